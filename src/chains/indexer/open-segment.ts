import { setImmediate } from 'node:timers/promises'
import type { BlockClock } from '#chains/chain/block-clock.ts'
import type { ChainSource, HistoryPart } from '#chains/chain/chain-source.ts'
import type { LogColumns } from '#chains/chain/columns/log-columns.ts'
import { dateLogs } from '#chains/chain/date-logs.ts'
import { RpcError } from '#chains/chain/rpc-error.ts'
import type { BlockHeader, Log } from '#domain/chain.ts'
import type { AnyDataset, LogProblem, Staged } from './dataset.ts'
import { selectLogs } from './select-logs.ts'

/** Blocks of history, read and decoded, to be stored at once. */
export interface Segment {
  readonly end: BlockHeader
  readonly staged: readonly Staged[]
  readonly anomalies: readonly Anomaly[]
}

export interface Anomaly {
  readonly log: Log
  readonly dataset: string
  readonly problem: LogProblem
}

export interface SegmentDeps {
  readonly source: ChainSource
  readonly blockClock: BlockClock
  onRead(progress: { readonly number: number; readonly logs: number }): void
}

export interface SegmentInput {
  readonly datasets: readonly AnyDataset[]
  /** From when on roughly dated logs get the time of their hour. */
  readonly hoursFromUnix: number
}

const LOGS_AT_ONCE = 256

/** A segment that is being read. */
export class OpenSegment {
  readonly #deps: SegmentDeps
  readonly #hoursFromUnix: number
  readonly #staged: readonly Staged[]
  readonly #anomalies: Anomaly[] = []
  readonly #exact: ReturnType<typeof selectLogs>
  #logs = 0
  /** The end that came with the newest logs. */
  #end: Pick<HistoryPart, 'end' | 'host'> | undefined

  constructor(deps: SegmentDeps, { datasets, hoursFromUnix }: SegmentInput) {
    this.#deps = deps
    this.#hoursFromUnix = hoursFromUnix
    this.#staged = datasets.map((dataset) =>
      dataset.stage((log, problem) => {
        this.#anomalies.push({ log, dataset: dataset.name, problem })
      }),
    )
    const exact = datasets.filter(({ isDatedRoughly = false }) => !isDatedRoughly)
    this.#exact = selectLogs(exact.flatMap(({ selectors }) => selectors))
  }

  get logs(): number {
    return this.#logs
  }

  async take({ columns, end, host }: HistoryPart, to: number): Promise<void> {
    await dateLogs(this.#deps.blockClock, {
      columns,
      exact: (index) => this.#exact.isWanted(columns, index),
      hoursFromUnix: this.#hoursFromUnix,
    })
    this.#end = { end, host }
    this.#logs += columns.count
    for (let from = 0; from < columns.count; from += LOGS_AT_ONCE) {
      await setImmediate()
      this.#read(columns.slice(from, Math.min(from + LOGS_AT_ONCE, columns.count)), host)
    }
    this.#deps.onRead({ number: to, logs: columns.count })
  }

  #read(columns: LogColumns, host: string): void {
    try {
      for (const staged of this.#staged) staged.takeColumns(columns)
    } catch (error) {
      if (!(error instanceof RpcError || error instanceof RangeError)) throw error
      throw this.#lie(host, error.message)
    }
  }

  #lie(host: string, reason: string): RpcError {
    this.#deps.source.distrust(host, reason)
    return new RpcError(`${host}: ${reason}`)
  }

  /** Ends the segment with the header of its last block. */
  async close(to: number): Promise<Segment> {
    const header = await this.#deps.source.header(to)
    if (header === undefined)
      throw new RpcError(`the node returned logs up to ${to} but not that block`)
    const { end, host = '' } = this.#end ?? {}
    if (end?.number === to && end.hash !== header.hash)
      throw this.#lie(host, `block ${to} has another hash than what came with the logs`)
    for (const each of this.#staged) each.seal()
    return { end: header, staged: this.#staged, anomalies: this.#anomalies }
  }
}
