import { setImmediate as nextTurn } from 'node:timers/promises'
import { DAY_SECONDS } from '#base/time.ts'
import type { Connection, Engine } from '#db/engine.ts'

/** Rows that are deleted once they are old. */
export interface Retained {
  readonly keepDays: number
  /** Most rows of a transaction. */
  readonly atOnce: Readonly<Record<Engine['dialect'], number>>
  deletePage(
    connection: Connection,
    page: RetainedPage,
  ): Promise<{ readonly place: Place; readonly isDone: boolean }>
}

interface RetainedPage {
  /** Unix seconds. */
  readonly beforeUnix: number
  readonly limit: number
  /** The last row of the previous page. */
  readonly place: Place
}

export interface Place {
  readonly day: number
  readonly key: string
}

export const START: Place = { day: Number.MIN_SAFE_INTEGER, key: '' }

/**
 * Deletes in the order of the list, page by page; what the signal cuts off goes on in the next run. Rows that
 * stay are not visited again.
 */
export function createPruning(list: readonly Retained[]) {
  const places = new Map<Retained, Place>()
  return async (
    { engine, nowUnix }: { readonly engine: Engine; readonly nowUnix: number },
    signal?: AbortSignal,
  ): Promise<void> => {
    for (const each of list) {
      const beforeUnix = nowUnix - each.keepDays * DAY_SECONDS
      for (let isDone = false; !isDone; ) {
        if (signal?.aborted) return
        const page = {
          beforeUnix,
          limit: each.atOnce[engine.dialect],
          place: places.get(each) ?? START,
        }
        const pruned = await engine.write((connection) => each.deletePage(connection, page))
        places.set(each, pruned.place)
        isDone = pruned.isDone
        await nextTurn()
      }
    }
  }
}
