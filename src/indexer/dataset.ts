import type { Position } from '#chain/chain-event.ts'
import type { Log } from '#domain/chain.ts'
import type { Connection } from '#store/engine.ts'
import { type Selector, selectLogs } from './select-logs.ts'

export type { Position } from '#chain/chain-event.ts'

/** What a dataset is given inside the transaction of a commit or rollback. */
export interface Change {
  readonly connection: Connection
  readonly chainId: number
  /** Blocks up to this height cannot be taken back any more. */
  readonly finalizedNumber: number
  /** A price is new or gone from this moment on: values of later events must be found anew. */
  priceMoved(symbol: string, fromUnix: number): void
}

/** One kind of fact: how it is read out of logs, stored, and taken back. */
export interface Dataset<Fact> {
  readonly name: string
  readonly selectors: readonly Selector[]
  /** Pure. None when the log is not meant after all; throws when it cannot be read. */
  decode(log: Log): readonly Fact[]
  /** Stores facts of one chain, in chain order, and folds them into the rollups. */
  apply(change: Change, facts: readonly Fact[]): Promise<void>
  /** Removes what blocks above the ancestor brought. Apply, revert, apply equals apply. */
  revert(change: Change, ancestor: Position): Promise<void>
  /** More blocks became final: what only a revert of them needs may go. */
  finalize?(change: Change): Promise<void>
}

/** A dataset whose facts are its own affair. */
export interface AnyDataset extends Omit<Dataset<never>, 'decode' | 'apply'> {
  /** Decodes now, stores later; a log that cannot be read is told instead of thrown. */
  stage(logs: readonly Log[], unreadable: (log: Log, reason: string) => void): Staged
}

export interface Staged {
  apply(change: Change): Promise<void>
}

/** Closes over the fact type, so that datasets of all kinds fit into one list. */
export function toAnyDataset<Fact>(dataset: Dataset<Fact>): AnyDataset {
  const { decode, apply, ...rest } = dataset
  const wants = selectLogs(dataset.selectors)
  return {
    ...rest,
    stage(logs, unreadable) {
      const facts = logs.filter(wants).flatMap((log) => {
        try {
          return decode(log)
        } catch (error) {
          unreadable(log, error instanceof Error ? error.message : String(error))
          return []
        }
      })
      return { apply: (change) => (facts.length > 0 ? apply(change, facts) : Promise.resolve()) }
    },
  }
}
