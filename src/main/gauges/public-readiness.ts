import type { Readiness } from '#api/health-routes.ts'
import type { Chain } from '#ecosystem/ecosystem.ts'

/** What anyone may read of the readiness: RPC endpoints by number, in the file's order, not by host. */
export function publicReadiness(readiness: Readiness, chains: readonly Chain[]): Readiness {
  const urls = chains.flatMap(({ rpcUrls }) => rpcUrls).map((url) => new URL(url))
  // A name of one word, such as a container's, may be a chain's as well; it tells nobody anything.
  const names = urls.flatMap(({ host, hostname }, index) =>
    [host, hostname]
      .filter((each) => /[.:]/.test(each))
      .map((each): readonly [string, string] => [each, `#${index + 1}`]),
  )
  // Longest first: a host may begin another one.
  names.sort(([one], [other]) => other.length - one.length)
  const hide = (text: string) =>
    names.reduce((hidden, [host, name]) => hidden.replaceAll(host, name), text)
  const parts = Object.entries(readiness.parts).map(([name, state]) => [hide(name), hide(state)])
  return { ...readiness, parts: Object.fromEntries(parts) }
}
