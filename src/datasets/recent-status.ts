import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import type { FileParts } from '#indexer/adopted-file/file-part.ts'
import { type IndexStatus, readIndexStatus } from '#indexer/status.ts'
import type { Clock } from '#lib/clock.ts'
import type { Engine } from '#store/engine.ts'

/** An answer may be this much behind the index; it is also the price of a free 304. */
const FRESH_MS = 100

/** Reads the index status at most every so often, however many ask. */
export function makeRecentStatus(deps: {
  readonly register: Engine
  readonly ecosystem: Ecosystem
  readonly file: FileParts
  readonly clock: Clock
}): () => Promise<IndexStatus | undefined> {
  let readAtMs = Number.NEGATIVE_INFINITY
  let reading: Promise<IndexStatus | undefined> | undefined
  return () => {
    const now = deps.clock()
    // A clock that was set back must not keep an old status for good.
    if (reading === undefined || Math.abs(now - readAtMs) > FRESH_MS) {
      readAtMs = now
      reading = deps.register.snapshot((reads) =>
        readIndexStatus(reads, deps.ecosystem.chains, deps.file),
      )
      reading.catch(() => {
        reading = undefined
      })
    }
    return reading
  }
}
