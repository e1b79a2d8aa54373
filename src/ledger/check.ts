import type { Connection } from '#store/engine.ts'

/** Something that a promise of ours says otherwise. `subject` names the row, `detail` the figures. */
export interface Difference {
  readonly subject: string
  readonly detail: string
}

/** One promise as a query: it gives what breaks it, nothing when it holds. */
export interface Check {
  readonly name: string
  run(connection: Connection): Promise<Difference[]>
}

/** An audit lists this many differences per check; a broken store has as many as it has rows. */
export const DIFFERENCES_MAX = 100
