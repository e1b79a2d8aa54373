import type { EventSource } from '#chains/ecosystem/event-source.ts'
import { findContract } from '#chains/indexer/found-contracts/dataset.ts'
import type { Address } from '#domain/address.ts'
import { type Scan, scanBack } from './scan-back.ts'

/** The contract of a mapping, or the newest ones that its factory made, which then count as found. */
export async function findEmitters(
  deps: Parameters<typeof scanBack>[0],
  { made, address }: Pick<EventSource, 'made' | 'address'>,
  range: Pick<Scan, 'from' | 'to' | 'untilMs'>,
): Promise<readonly Address[]> {
  if (made === undefined) return [address]
  const filter = { addresses: [address], topics: [[made.event.topic0]] }
  const { logs } = await scanBack(deps, { ...range, filter, enough: ENOUGH })
  const contracts = new Set<Address>()
  for (const log of logs.slice(-ENOUGH)) {
    const contract = findContract(made, log)
    if (contract === undefined) continue
    made.found.add([[contract, log.blockNumber]])
    contracts.add(contract)
  }
  // The factory itself emits nothing of the event, which then shows as no log.
  return contracts.size === 0 ? [address] : [...contracts]
}

/** Any endpoint takes as many addresses. */
const ENOUGH = 100
