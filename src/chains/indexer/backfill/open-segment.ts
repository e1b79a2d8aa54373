import { setImmediate } from 'node:timers/promises'
import type { BlockClock } from '#chains/chain/block-clock.ts'
import type { ChainSource, HistoryPart } from '#chains/chain/chain-source.ts'
import type { LogColumns } from '#chains/chain/columns/log-columns.ts'
import { dateLogs } from '#chains/chain/date-logs.ts'
import { RpcError } from '#chains/chain/rpc-error.ts'
import type { Log } from '#domain/chain.ts'
import type { AnyDataset, HistoryFold, LogProblem, Staged, Store } from '../dataset.ts'
import type { Anomaly, Segment } from '../segment.ts'
import { selectLogs } from '../select-logs.ts'

export interface SegmentDeps {
  readonly source: ChainSource
  readonly blockClock: BlockClock
  onRead(progress: { readonly number: number; readonly logs: number }): void
}

export interface SegmentInput {
  readonly from: number
  readonly datasets: readonly AnyDataset[]
  readonly folds: ReadonlyMap<AnyDataset, HistoryFold>
  /** From when on folds take hours; none unless given. */
  readonly hoursFromUnix?: number
}

const LOGS_AT_ONCE = 256

/** A segment that is being read. */
export class OpenSegment {
  readonly from: number
  readonly #deps: SegmentDeps
  readonly #folds: SegmentInput['folds']
  readonly #hoursFromUnix: number
  readonly #staged: readonly Staged[]
  readonly #anomalies: Anomaly[] = []
  readonly #foldedAnomalies: Anomaly[] = []
  readonly #exact: ReturnType<typeof selectLogs>
  #logs = 0
  /** The end that came with the newest logs. */
  #end: Pick<HistoryPart, 'end' | 'host'> | undefined

  constructor(deps: SegmentDeps, input: SegmentInput) {
    this.#deps = deps
    this.#folds = input.folds
    this.#hoursFromUnix = input.hoursFromUnix ?? Number.POSITIVE_INFINITY
    this.from = input.from
    this.#staged = input.datasets.map((dataset) =>
      dataset.stage(reportInto(this.#anomalies, dataset)),
    )
    this.#exact = selectLogs(input.datasets.flatMap((dataset) => dataset.selectors))
  }

  get size(): number {
    return this.#staged.reduce((sum, staged) => sum + staged.size, 0)
  }

  async take({ columns, end, host }: HistoryPart, to: number): Promise<void> {
    await dateLogs(this.#deps.blockClock, {
      columns,
      exact: (index) => this.#exact.isWanted(columns, index),
      hoursFromUnix: this.#hoursFromUnix,
    })
    this.#end = { end, host }
    for (let from = 0; from < columns.count; from += LOGS_AT_ONCE) {
      await setImmediate()
      this.#read(columns.slice(from, Math.min(from + LOGS_AT_ONCE, columns.count)), host)
    }
    this.#deps.onRead({ number: to, logs: columns.count })
  }

  #read(columns: LogColumns, host: string): void {
    this.#logs += columns.count
    try {
      for (const staged of this.#staged) staged.takeColumns(columns)
      for (const [dataset, fold] of this.#folds)
        fold.take(columns, reportInto(this.#foldedAnomalies, dataset))
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
  async close(to: number, drained: readonly Store[] | undefined): Promise<Segment> {
    const header = await this.#deps.source.header(to)
    if (header === undefined)
      throw new RpcError(`the node returned logs up to ${to} but not that block`)
    const { end, host = '' } = this.#end ?? {}
    if (end?.number === to && end.hash !== header.hash)
      throw this.#lie(host, `block ${to} has another hash than what came with the logs`)
    for (const each of this.#staged) each.seal()
    const { from } = this
    const read = { from, end: header, logs: this.#logs, staged: this.#staged, drained }
    return { ...read, anomalies: this.#anomalies, foldedAnomalies: this.#foldedAnomalies }
  }
}

function reportInto(anomalies: Anomaly[], dataset: AnyDataset) {
  return (log: Log, problem: LogProblem) =>
    void anomalies.push({ log, dataset: dataset.name, problem })
}
