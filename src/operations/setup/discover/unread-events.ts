import type { SourceLog } from '#chains/chain/chain-source.ts'
import { countTopics } from '#chains/indexer/name-of-topic.ts'
import { type Address, showAddress } from '#domain/address.ts'
import { scanBack } from '../scan-back.ts'
import type { ChainView } from './chain-view.ts'

const BUDGET_MS = 20_000
const LOGS_MAX = 2_000

/** So many with the same events are told in one line. */
const ALIKE_MIN = 3

/** Nearly every contract emits them, and no part of the file is about them. */
const COMMON = [
  'Transfer(address,address,uint256)',
  'Approval(address,address,uint256)',
  'OwnershipTransferred(address,address)',
  'RoleGranted(bytes32,address,address)',
  'Initialized(uint64)',
]

interface Looked {
  readonly contracts: readonly Address[]
  readonly firstBlock: number
  /** Whether the draft has a use for the log. */
  isRead(log: SourceLog): boolean
}

/** Says what each of these contracts emits that the draft does not read, and which of them are silent. */
export async function describeUnread(view: ChainView, looked: Looked): Promise<readonly string[]> {
  const { contracts, firstBlock, isRead } = looked
  if (contracts.length === 0) return []
  const { logs, from } = await scanBack(view, {
    filter: { addresses: contracts, topics: [] },
    from: firstBlock,
    to: view.headNumber,
    enough: LOGS_MAX,
    untilMs: view.clock() + BUDGET_MS,
  })
  const where = `on ${view.name} in blocks ${from} to ${view.headNumber}`
  const byContract = Map.groupBy(logs, ({ address }) => address)
  const used = Map.groupBy(
    logs.filter((log) => !isRead(log)),
    ({ address }) => address,
  )
  // Pots of a game, say: the same events, however often.
  const alike = Map.groupBy(used, ([, own]) => Object.keys(countTopics(own)).sort().join())
  const unread = [...alike.values()].flatMap((group) =>
    group.length < ALIKE_MIN
      ? group.flatMap(([address, own]) => describe([address], own, where))
      : describe(
          group.map(([address]) => address),
          group.flatMap(([, own]) => own),
          where,
        ),
  )
  const silent = contracts.filter((each) => !byContract.has(each)).map(showAddress)
  return silent.length === 0 ? unread : [...unread, `no event ${where}: ${shorten(silent, 10)}`]
}

function describe(
  contracts: readonly Address[],
  logs: readonly SourceLog[],
  where: string,
): readonly string[] {
  const events = inWords(logs)
  if (events === '') return []
  const text = `${events} ${where}: nothing in the file reads them`
  const names = shorten(contracts.map(showAddress), 3)
  return contracts.length === 1
    ? [`${names} emits ${text}`]
    : [
        `${contracts.length} contracts (${names}) emit ${text}; if a contract makes them, a mapping names it as contracts.factory`,
      ]
}

function inWords(logs: readonly SourceLog[]): string {
  const counts = Object.entries(countTopics(logs)).filter(([event]) => !COMMON.includes(event))
  const times = (count: number) => (count === 1 ? 'once' : `${count} times`)
  return shorten(
    counts.map(([event, count]) => `${event} ${times(count)}`),
    5,
  )
}

function shorten(names: readonly string[], most: number): string {
  const more = names.length - most
  return [...names.slice(0, most), ...(more > 0 ? [`${more} more`] : [])].join(', ')
}
