import type { Position } from '#chain/chain-event.ts'
import type { LogColumns } from '#chain/columns/log-columns.ts'
import type { Log } from '#domain/chain.ts'
import type { MicroUsd } from '#domain/money.ts'
import type { Connection } from '#store/engine.ts'
import type { PartEntry } from './adopted-file/file-part.ts'
import type { DatedAmount, TimeRange } from './events/moments.ts'
import { type Selector, selectLogs } from './select-logs.ts'

export type { Position } from '#chain/chain-event.ts'

/** What a dataset is given inside the transaction of a commit or rollback. */
export interface Change {
  readonly connection: Connection
  readonly chainId: number
  /** Blocks up to this height cannot be taken back any more. */
  readonly finalizedNumber: number
  /** The blocks are older than the newest days: sums per hour are no longer wanted. */
  readonly isOlder: boolean
  /** Dollar values of amounts at moments, as far as blocks still to be read cannot change them. */
  valuesOf(amounts: readonly DatedAmount[]): Promise<readonly (MicroUsd | null | undefined)[]>
  /** A price is new or gone: values of the events of that time must be found anew. */
  priceMoved(symbol: string, when: TimeRange): void
}

/** One kind of fact: how it is read out of logs, stored, and taken back. */
export interface Dataset<Fact> {
  readonly name: string
  readonly selectors: readonly Selector[]
  /** The settings that decide a chain's facts; empty if the dataset has none on this chain. */
  builtFrom(chainId: number): readonly PartEntry[]
  /** Pure. None when the log is not meant after all; throws when it cannot be read. */
  decode(log: Log): readonly Fact[]
  /** Stores facts of one chain, in chain order, and folds them into the rollups. */
  apply(change: Change, facts: readonly Fact[]): Promise<void>
  /** Removes what blocks above the ancestor brought. Apply, revert, apply equals apply. */
  revert(change: Change, ancestor: Position): Promise<void>
  /** Removes everything of the chain, where reverting to before its first block would not do. */
  forget?(change: Change): Promise<void>
  /** More blocks became final: what only a revert of them needs may go. */
  finalize?(change: Change): Promise<void>
  /**
   * Facts that build on all earlier ones. They are read from the first block on, while those of the
   * other datasets may be read newest first; opens the quick way through that long history.
   */
  readonly openHistory?: (chainId: number) => HistoryFold
}

/** Stores something inside a commit. */
export type Store = (change: Change) => Promise<void>

/** Folds a chain's history in memory, block by block; the outcome is stored now and then. */
export interface HistoryFold {
  /** Takes up what has been stored of it. */
  load(connection: Connection): Promise<void>
  /** Logs that follow all those taken before; one that cannot be read is told instead of thrown. */
  take(columns: LogColumns, unreadable: (log: Log, reason: string) => void): void
  /**
   * What changed since the last call, as it stands now: to be stored by what is given, once, while more
   * logs may be taken. Throws when what was taken cannot be.
   */
  drain(): Store
  /** The history ends here; from now on facts are staged like any other's. */
  complete(change: Change): Promise<void>
}

/** A dataset whose facts are its own affair. */
export interface AnyDataset extends Omit<Dataset<never>, 'decode' | 'apply'> {
  /** Decodes now, stores later; a log that cannot be read is told instead of thrown. */
  stage(unreadable: (log: Log, reason: string) => void): Staged
}

export interface Staged {
  /** Facts taken so far. */
  readonly size: number
  /** Takes logs that follow all those taken before. */
  takeLogs(logs: readonly Log[]): void
  takeColumns(columns: LogColumns): void
  apply(change: Change): Promise<void>
}

/** Closes over the fact type, so that datasets of all kinds fit into one list. */
export function toAnyDataset<Fact>(dataset: Dataset<Fact>): AnyDataset {
  const { decode, apply, ...rest } = dataset
  const selection = selectLogs(dataset.selectors)
  return {
    ...rest,
    stage(unreadable) {
      const facts: Fact[] = []
      const take = (logs: readonly Log[]) => {
        for (const log of logs) {
          try {
            for (const fact of decode(log)) facts.push(fact)
          } catch (error) {
            unreadable(log, error instanceof Error ? error.message : String(error))
          }
        }
      }
      return {
        get size() {
          return facts.length
        },
        takeLogs: (logs) => take(selection.ofLogs(logs)),
        takeColumns: (columns) => take(selection.ofColumns(columns)),
        apply: (change) => (facts.length > 0 ? apply(change, facts) : Promise.resolve()),
      }
    },
  }
}
