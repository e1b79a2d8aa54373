import type { Chain } from '#chains/ecosystem/ecosystem.ts'
import type { Problem } from '#chains/ecosystem/problem.ts'
import { isObject } from '#lib/json.ts'
import type { Clock } from '#lib/time.ts'
import { messageOf } from './discover/chain-view.ts'
import { openNode } from './node.ts'

/** Asks each endpoint by itself: the others would cover for one that is wrong. */
export async function checkEndpoints(
  chains: readonly Chain[],
  clock: Clock,
): Promise<readonly Problem[]> {
  const judged = await Promise.all(
    chains.flatMap((chain, index) =>
      chain.rpcUrls.map(async (url, place) => {
        const message = await judgeEndpoint(chain, url, clock)
        return { field: `chains[${index}].rpcUrls[${place}]`, message }
      }),
    ),
  )
  return judged.flatMap(({ field, message }) => (message === undefined ? [] : { field, message }))
}

/** Blocks may be this far ahead of this machine's clock. */
const CLOCK_SECONDS = 5

async function judgeEndpoint(chain: Chain, url: string, clock: Clock): Promise<string | undefined> {
  const node = openNode(url)
  try {
    const id = Number(await node.ask('eth_chainId'))
    if (id !== chain.id)
      return `serves chain ${id}, the file says ${chain.id}; correct the URL or the id`
    const head = await node.ask('eth_getBlockByNumber', 'latest', false)
    const ageSeconds = clock() / 1_000 - Number(isObject(head) ? head.timestamp : Number.NaN)
    if (ageSeconds > chain.staleAfterSeconds)
      return `its head is ${Math.round(ageSeconds)} s old: the node lags, or the chain stands still`
    if (ageSeconds < -CLOCK_SECONDS)
      return `its head is ${Math.round(-ageSeconds)} s in the future: this machine's clock is slow; run NTP`
    return undefined
  } catch (error) {
    return `does not answer (${messageOf(error)}); check the URL, or start the node`
  }
}
