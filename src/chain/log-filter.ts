import type { Address, Hash } from '#base/address.ts'
import type { Log } from '#base/chain.ts'

export interface LogFilter {
  /** `null`: any contract. */
  readonly addresses: readonly Address[] | null
  /** `null` accepts every value. */
  readonly topics: readonly (readonly Hash[] | null)[]
  /** Which event of which contract; the lists alone match more. */
  readonly pairs?: readonly { readonly address: Address; readonly topic0: Hash }[]
}

export function matches(filter: LogFilter, log: Pick<Log, 'address' | 'topics'>): boolean {
  const { addresses } = filter
  if (addresses?.includes(log.address) === false) return false
  return filter.topics.every((values, position) => {
    const topic = log.topics[position]
    return values === null || (topic !== undefined && values.includes(topic))
  })
}
