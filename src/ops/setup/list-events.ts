import { from, getSelector } from 'ox/AbiEvent'
import { type Address, showAddress, ZERO_ADDRESS } from '#base/address.ts'
import { countNoun } from '#base/text.ts'
import type { Clock } from '#base/time.ts'
import { TRANSFER_TOPIC } from '#base/token.ts'
import type { ChainSource, LogFilter, SourceLog } from '#chain/chain-source.ts'
import { countTopics } from '#index/price-logs.ts'
import { walkLogs } from '#index/prove-prices.ts'
import type { ChainView } from './chain-view.ts'

const BUDGET_MS = 20_000
const LOGS_MAX = 2_000

export const DEAD_ADDRESS = '0x000000000000000000000000000000000000dead'

/** What contracts emitted lately. */
export interface Emitted {
  /** A line for each event: where, and how often. */
  readonly lines: readonly string[]
  /** Events of the token that are named as burns are, each as a signature. */
  readonly burnEvents: readonly string[]
  /** The blocks in which the token burned nothing; undefined if it burned. */
  readonly withoutBurns: string | undefined
}

const BURN_NAMES = ['Burn', 'Burned', 'TokensBurned']

/** The first contract is the token. */
export async function listEvents(
  view: ChainView,
  { contracts, firstBlock }: { readonly contracts: readonly Address[]; firstBlock: number },
): Promise<Emitted> {
  const { logs, from: first } = await scanBack(view, {
    filter: { addresses: contracts, topics: [] },
    from: firstBlock,
    to: view.headNumber,
    enough: LOGS_MAX,
    untilMs: view.clock() + BUDGET_MS,
  })
  const byContract = Map.groupBy(logs, ({ address }) => address)
  const blocks = `blocks ${first} to ${view.headNumber}`
  const [token] = contracts
  const own = byContract.get(token ?? '0x') ?? []
  const burnEvents = readBurnEvents(own)
  const lines = contracts.flatMap((address) => {
    const where = `${showAddress(address)} on ${view.name}, ${blocks}`
    const counts = Object.entries(countTopics(byContract.get(address) ?? []))
    if (counts.length === 0) return [`${where}: no event`]
    return counts.map(([event, count]) => `${where}: ${event} ${countNoun(count, 'time')}`)
  })
  const hasBurns = burnEvents.length > 0 || own.some(isBurn)
  return { lines, burnEvents, withoutBurns: hasBurns ? undefined : blocks }
}

function isBurn({ topics: [topic0, , to] }: SourceLog): boolean {
  const address = to === undefined ? undefined : `0x${to.slice(26)}`
  return topic0 === TRANSFER_TOPIC && (address === ZERO_ADDRESS || address === DEAD_ADDRESS)
}

/** Only the number of topics says what is indexed: the account first. */
function readBurnEvents(logs: readonly SourceLog[]): readonly string[] {
  return BURN_NAMES.flatMap((name) => {
    const topic = getSelector(from(`event ${name}(address account, uint256 amount)`))
    const log = logs.find(({ topics }) => topics[0] === topic)
    if (log === undefined) return []
    const indexed = (place: number) => (log.topics.length > place ? 'indexed ' : '')
    return [`event ${name}(address ${indexed(1)}account, uint256 ${indexed(2)}amount)`]
  })
}

export interface Scan {
  readonly filter: LogFilter
  readonly from: number
  readonly to: number
  readonly enough: number
  readonly untilMs: number
}

const FIRST_BLOCKS = 2_000

/** Scans the newest blocks first; returns logs ascending, and how far back it came. */
export async function scanBack(
  { source, clock }: { readonly source: Pick<ChainSource, 'logsInRange'>; readonly clock: Clock },
  { enough, untilMs, ...scan }: Scan,
): Promise<{ readonly logs: readonly SourceLog[]; readonly from: number }> {
  const found: (readonly SourceLog[])[] = []
  let count = 0
  let from = scan.to + 1
  const parts = walkLogs(source, { ...scan, blocks: FIRST_BLOCKS })
  for await (const { logs, left } of parts) {
    found.unshift(logs)
    count += logs.length
    from = left.to + 1
    if (count >= enough || clock() >= untilMs) break
  }
  return { logs: found.flat(), from }
}
