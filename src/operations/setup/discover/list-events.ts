import { countTopics } from '#chains/indexer/price-logs.ts'
import { type Address, showAddress } from '#domain/address.ts'
import { countOf } from '#lib/text.ts'
import { scanBack } from '../scan-back.ts'
import type { ChainView } from './chain-view.ts'

const BUDGET_MS = 20_000
const LOGS_MAX = 2_000

/** Says what each contract emitted lately, and how often. */
export async function listEvents(
  view: ChainView,
  { contracts, firstBlock }: { readonly contracts: readonly Address[]; firstBlock: number },
): Promise<readonly string[]> {
  const { logs, from } = await scanBack(view, {
    filter: { addresses: contracts, topics: [] },
    from: firstBlock,
    to: view.headNumber,
    enough: LOGS_MAX,
    untilMs: view.clock() + BUDGET_MS,
  })
  const byContract = Map.groupBy(logs, ({ address }) => address)
  return contracts.flatMap((address) => {
    const where = `${showAddress(address)} on ${view.name}, blocks ${from} to ${view.headNumber}`
    const counts = Object.entries(countTopics(byContract.get(address) ?? []))
    if (counts.length === 0) return [`${where}: no event`]
    return counts.map(([event, count]) => `${where}: ${event} ${countOf(count, 'time')}`)
  })
}
