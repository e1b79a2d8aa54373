import { fdatasyncSync } from 'node:fs'
import type { SyncFile } from '#db/sqlite/open-sqlite.ts'

/** A disk whose syncs wait until a test settles them. */
export interface HeldDisk {
  readonly sync: SyncFile
  /** Syncs that were asked for while they are held, in order. */
  readonly syncs: PromiseWithResolvers<void>[]
  /** From then on syncs are done at once; those that wait already still do. */
  isFree: boolean
}

export function heldDisk(): HeldDisk {
  const disk: HeldDisk = {
    syncs: [],
    isFree: false,
    async sync(descriptor) {
      if (disk.isFree) return fdatasyncSync(descriptor)
      const sync = Promise.withResolvers<void>()
      disk.syncs.push(sync)
      await sync.promise
    },
  }
  return disk
}

/** Lets everything run that waits for nothing but its turn. */
export const turn = () => new Promise((resolve) => setImmediate(resolve))

export async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await turn()
}
