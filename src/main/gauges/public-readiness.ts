import type { Readiness } from '#api/health-routes.ts'
import type { Chain } from '#ecosystem/ecosystem.ts'

/** Replaces RPC hosts by their number in the file. */
export function publicReadiness(readiness: Readiness, chains: readonly Chain[]): Readiness {
  const urls = chains.flatMap(({ rpcUrls }) => rpcUrls).map((url) => new URL(url))
  // Single-word hosts reveal nothing and may equal a chain's name.
  const names = urls.flatMap(({ host, hostname }, index) =>
    [host, hostname]
      .filter((each) => /[.:]/.test(each))
      .map((each): readonly [string, string] => [each, `#${index + 1}`]),
  )
  // One host may be the prefix of another.
  names.sort(([one], [other]) => other.length - one.length)
  const hide = (text: string) =>
    names.reduce((hidden, [host, name]) => hidden.replaceAll(host, name), text)
  const parts = Object.entries(readiness.parts).map(([name, state]) => [hide(name), hide(state)])
  return { ...readiness, parts: Object.fromEntries(parts) }
}
