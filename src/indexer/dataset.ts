import type { Position } from '#chain/chain-event.ts'
import type { LogColumns } from '#chain/columns/log-columns.ts'
import type { Log } from '#domain/chain.ts'
import type { MicroUsd } from '#domain/money.ts'
import type { Connection } from '#store/engine.ts'
import type { PartEntry } from './adopted-file/file-part.ts'
import type { DatedAmount, TimeRange } from './events/time-range.ts'
import type { Changes } from './feed/changes.ts'
import { type Selector, selectLogs } from './select-logs.ts'

export type { Position } from '#chain/chain-event.ts'

export interface Change {
  readonly connection: Connection
  readonly chainId: number
  readonly finalizedNumber: number
  /** Gets no hourly sums. */
  readonly isOlder: boolean
  /** For the feed, which follows the head only. */
  readonly changes?: Changes | undefined
  /** In dollars; undefined while unread blocks may change them. */
  valuesOf(amounts: readonly DatedAmount[]): Promise<readonly (MicroUsd | null | undefined)[]>
  /** Events in this range must be valued again. */
  priceMoved(symbol: string, when: TimeRange): void
}

export interface Dataset<Fact> {
  readonly name: string
  readonly selectors: readonly Selector[]
  builtFrom(chainId: number): readonly PartEntry[]
  /** Pure. Empty if the log does not match after all; throws if unreadable. */
  decode(log: Log): readonly Fact[]
  apply(change: Change, facts: readonly Fact[]): Promise<void>
  /** Apply, revert, apply equals apply. */
  revert(change: Change, ancestor: Position): Promise<void>
  /** If reverting everything leaves rows. */
  forget?(change: Change): Promise<void>
  /** Drops what only reverts needed. */
  finalize?(change: Change): Promise<void>
  /** For facts that build on all earlier ones; from the first block on. */
  readonly openHistory?: (chainId: number) => HistoryFold
}

export type Store = (change: Change) => Promise<void>

/** In memory, in block order; flushed now and then. */
export interface HistoryFold {
  load(connection: Connection): Promise<void>
  /** In chain order; reports unreadable logs. */
  take(columns: LogColumns, unreadable: (log: Log, reason: string) => void): void
  /**
   * The changes since the last call, copied, to be stored once while `take` continues. Throws if
   * the state is impossible.
   */
  drain(): Store
  /** From now on, facts are staged as for other datasets. */
  complete(change: Change): Promise<void>
}

/** Hides the fact type, so that all datasets fit into one list. */
export interface AnyDataset extends Omit<Dataset<never>, 'decode' | 'apply'> {
  /** Decodes now, stores later; reports unreadable logs. */
  stage(unreadable: (log: Log, reason: string) => void): Staged
}

export interface Staged {
  readonly size: number
  takeLogs(logs: readonly Log[]): void
  takeColumns(columns: LogColumns): void
  apply(change: Change): Promise<void>
}

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
