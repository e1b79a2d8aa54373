import { type Hash, showAddress } from '#base/address.ts'
import type { Log } from '#base/chain.ts'
import { formatDecimal } from '#base/money.ts'
import type { ChainSource, SourceLog } from '#chain/chain-source.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { DecodeError } from '#ecosystem/event-arguments.ts'
import type { EventReading, EventSource } from '#ecosystem/event-source.ts'
import { makeEventReader } from '#index/decode-event.ts'
import { type MappedRow, makeRowReader } from '#index/events/event-dataset.ts'

/** What becomes of a log. `args` are those of the event, as far as it could be decoded. */
export type ReadLog =
  | {
      readonly kind: 'rows'
      readonly args: MappedRow['args']
      readonly rows: readonly EventReading[]
    }
  | { readonly kind: 'left-out'; readonly by: 'where' | 'code' }
  | {
      readonly kind: 'anomaly'
      readonly args: MappedRow['args']
      readonly reason: string
    }

/** Reads a log as the index does; the code of the mapping is run. */
export async function readMapping(
  chain: ChainSource,
  source: EventSource,
  log: SourceLog,
): Promise<ReadLog> {
  const [own, ...beside] = await logsFor(chain, source, log)
  let args: MappedRow['args'] = {}
  try {
    const [matched] = makeEventReader([source])(own)
    if (matched === undefined) return { kind: 'left-out', by: 'where' }
    args = matched.args
    const rows = makeRowReader([source])(own, [own, ...beside])
    if (rows.length === 0) return { kind: 'left-out', by: 'code' }
    return { kind: 'rows', args, rows: rows.map((row) => source.read(row.args)) }
  } catch (error) {
    if (error instanceof DecodeError) return { kind: 'anomaly', args, reason: error.message }
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

/** Says why a log adds nothing to the figures. */
export function whyNotRead({ reason }: Extract<ReadLog, { reason: string }>): string {
  return `not counted, reported as an anomaly: ${reason}`
}

export function describeRow({ tokens }: Ecosystem, reading: EventReading): string {
  const { kind, token: symbol, account, amount, counted, detail } = reading
  const token = tokens.find((each) => each.symbol === symbol)
  const shown = formatDecimal(amount, token?.decimals ?? 0)
  const who = account === null ? '' : ` by ${showAddress(account)}`
  const which = detail === null ? '' : ` ${detail}`
  return `${counted ? 'counted' : 'listed, not counted'}: ${kind}${which}, ${shown} ${symbol}${who}`
}
