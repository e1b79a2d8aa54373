import { type Address, type Hash, showAddress, ZERO_ADDRESS } from '#base/address.ts'
import type { Log } from '#base/chain.ts'
import { formatDecimal } from '#base/money.ts'
import { countNoun } from '#base/text.ts'
import type { Clock } from '#base/time.ts'
import type { ChainSource, LogFilter, SourceLog } from '#chain/chain-source.ts'
import { makeRowReader } from '#data/events/event-dataset.ts'
import { listMappings, type Mapping } from '#data/mappings.ts'
import type { Chain, Ecosystem } from '#ecosystem/ecosystem.ts'
import { DecodeError } from '#ecosystem/event-arguments.ts'
import { countIndexed, type EventReading, type EventSource } from '#ecosystem/event-source.ts'
import type { Problem } from '#ecosystem/problem.ts'
import { fitting, keyOfSource, makeEventReader } from '#index/decode-event.ts'
import { findContract } from '#index/found-contracts.ts'
import { walkLogs } from '#ops/checks/prove-prices.ts'

/** What a check found. */
export interface Outcome {
  readonly errors: readonly Problem[]
  readonly warnings: readonly Problem[]
  readonly unchecked: readonly string[]
  /** What the code of mappings makes of the newest logs. */
  readonly rows: readonly Problem[]
}

export function joinOutcomes(outcomes: readonly Partial<Outcome>[]): Outcome {
  return {
    errors: outcomes.flatMap(({ errors = [] }) => errors),
    warnings: outcomes.flatMap(({ warnings = [] }) => warnings),
    unchecked: [...new Set(outcomes.flatMap(({ unchecked = [] }) => unchecked))],
    rows: outcomes.flatMap(({ rows = [] }) => rows),
  }
}

const SEARCH_MS = 10_000

const SAMPLE = 20

/** A mapping may be right without a log yet; one that cannot read its logs is wrong. */
export async function judgeMappings(
  clock: Clock,
  ecosystem: Ecosystem,
  sourceOf: (chain: Chain) => ChainSource,
): Promise<Outcome> {
  const mappings = listMappings(ecosystem)
  const judge = async (mapping: Mapping): Promise<Partial<Outcome>> => {
    const { source } = mapping
    const chain = sourceOf(source.chain)
    const head = await chain.header('latest')
    if (head === undefined) return {}
    const deps = { source: chain, clock }
    const to = head.number
    const range = { from: source.chain.startBlock, to, untilMs: clock() + SEARCH_MS }
    const addresses = await findEmitters(deps, source, range)
    const filter = { addresses, topics: [[source.topic0]] }
    const { logs: found, from } = await scanBack(deps, { ...range, filter, enough: SAMPLE })
    const sources = mappings.map((each) => each.source)
    const ofKey = sources.filter((each) => keyOfSource(each) === keyOfSource(source))
    const logs = found.filter((log) => fitting(ofKey, log).includes(source))
    const reads = await Promise.all(logs.map((log) => readLog(chain, source, log)))
    return judgeLogs(ecosystem, mapping, { logs, reads, blocks: `${from} to ${to}` })
  }
  return joinOutcomes(await Promise.all(mappings.map(judge)))
}

interface Sample {
  readonly logs: readonly SourceLog[]
  /** What became of each log. */
  readonly reads: readonly Read[]
  readonly blocks: string
}

function judgeLogs(ecosystem: Ecosystem, mapping: Mapping, sample: Sample): Partial<Outcome> {
  const { name, source } = mapping
  const { logs, reads, blocks } = sample
  const indexed = countIndexed(source.event)
  const unfit = logs.filter(({ topics }) => topics.length - 1 !== indexed)
  const last = countNoun(logs.length, 'log')
  if (unfit[0] !== undefined) {
    const found = countNoun(unfit[0].topics.length - 1, 'indexed argument')
    const message = `${unfit.length} of the last ${last} have ${found}, the event has ${indexed}; write "indexed" as the contract does`
    return { errors: [{ field: `${name}.event`, message }] }
  }
  const rows = source.code === undefined ? [] : showRows(ecosystem, mapping, sample)
  const anomalies = reads.flatMap(({ anomaly }) => anomaly ?? [])
  if (source.code !== undefined && anomalies[0] !== undefined)
    return { rows, errors: [{ field: `${name}.rows`, message: notCounted(anomalies[0]) }] }
  const readings = reads.flatMap((each) => each.readings ?? [])
  const doubt =
    readings.length === 0 && anomalies.length === 0
      ? `no log in blocks ${blocks} matches; check event, address and "where"`
      : doubtAccounts(ecosystem, readings)
  const uncounted = anomalies.at(-1)
  const messages = [
    uncounted && `${anomalies.length} of the last ${last}: ${notCounted(uncounted)}`,
    doubt,
  ]
  const warnings = messages.flatMap((message) => (message ? [{ field: name, message }] : []))
  return { rows, warnings }
}

function notCounted(reason: string): string {
  return `not counted, reported as an anomaly: ${reason}`
}

function doubtAccounts(
  { burnAddresses }: Ecosystem,
  readings: readonly EventReading[],
): string | undefined {
  const nowhere: readonly string[] = [ZERO_ADDRESS, ...burnAddresses]
  const accounts = new Set(readings.map(({ account }) => account))
  const [only] = accounts
  if (accounts.size > 0 && [...accounts].every((each) => each !== null && nowhere.includes(each)))
    return 'every account is the zero address or a burn address; are the arguments swapped?'
  return readings.length > 3 && accounts.size === 1 && only
    ? `every one of the last ${readings.length} events names the same account, ${showAddress(only)}; is the argument the right one?`
    : undefined
}

const SHOWN_LOGS = 3

function showRows({ tokens }: Ecosystem, mapping: Mapping, sample: Sample): readonly Problem[] {
  const reads = sample.reads.slice(-SHOWN_LOGS)
  return sample.logs.slice(-SHOWN_LOGS).flatMap(({ blockNumber, logIndex }, index) => {
    const { leftOutBy, readings = [] } = reads[index] ?? {}
    const at = `block ${blockNumber}, log ${logIndex}`
    const lines = leftOutBy === undefined ? [] : [`${at}: left out by ${leftOutBy}`]
    for (const [place, reading] of readings.entries()) {
      const { kind, token: symbol, account, amount, counted, detail } = reading
      const token = tokens.find((each) => each.symbol === symbol)
      const shown = `${formatDecimal(amount, token?.decimals ?? 0)} ${symbol}`
      const who = account === null ? '' : ` by ${showAddress(account)}`
      const which = detail === null ? '' : ` ${detail}`
      const what = `${counted ? 'counted' : 'listed, not counted'}: ${kind}${which}, ${shown}${who}`
      lines.push(`${at}, row ${place}: ${what}`)
    }
    return lines.map((message) => ({ field: mapping.name, message }))
  })
}

interface Scan {
  readonly filter: LogFilter
  readonly from: number
  readonly to: number
  readonly enough: number
  readonly untilMs: number
}

const FIRST_BLOCKS = 2_000

/** Scans the newest blocks first; returns logs ascending, and how far back it came. */
async function scanBack(
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
    if (contract !== undefined) contracts.add(contract)
    if (contract !== undefined) made.found.add([[contract, log.blockNumber]])
  }
  // The factory itself emits nothing of the event, which then shows as no log.
  return contracts.size === 0 ? [address] : [...contracts]
}

/** Any endpoint takes as many addresses. */
const ENOUGH = 100

/** What becomes of a log: one of these. */
interface Read {
  readonly readings?: readonly EventReading[]
  /** The module, or `where`. */
  readonly leftOutBy?: string
  readonly anomaly?: string
}

/** Reads a log as the index does; the code of the mapping is run. */
async function readLog(chain: ChainSource, source: EventSource, log: SourceLog): Promise<Read> {
  const [own, ...beside] = await logsFor(chain, source, log)
  try {
    if (makeEventReader([source])(own).length === 0) return { leftOutBy: 'where' }
    const rows = makeRowReader([source])(own, [own, ...beside])
    if (rows.length === 0) return { leftOutBy: source.code?.file ?? 'where' }
    return { readings: rows.map(({ args }) => source.read(args)) }
  } catch (error) {
    if (error instanceof DecodeError) return { anomaly: error.message }
    throw error
  }
}

/** The log, then those of its transaction that the mapping lists in `with`. */
async function logsFor(
  chain: ChainSource,
  { code }: EventSource,
  log: SourceLog,
): Promise<readonly [Log, ...Log[]]> {
  if (code === undefined) return [dated(log, 0)]
  const { blockNumber, txHash } = log
  const header = await chain.header(blockNumber)
  const { companions } = code
  const found =
    companions.length === 0
      ? []
      : await chain.logsInRange(
          {
            addresses: companions.map(({ address }) => address),
            topics: [companions.map(({ topic0 }): Hash => topic0)],
          },
          blockNumber,
          blockNumber,
        )
  const beside = found.filter((each) => each.txHash === txHash && each.logIndex !== log.logIndex)
  const time = header?.timestamp ?? 0
  return [dated(log, time), ...beside.map((each) => dated(each, time))]
}

function dated(log: SourceLog, time: number): Log {
  return { ...log, timestamp: log.timestamp ?? time }
}
