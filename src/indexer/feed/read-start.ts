import type { Connection } from '#store/engine.ts'
import { showCursor } from './cursor.ts'
import { readEnd } from './read-feed.ts'
import { finalOnAllChains } from './write-feed.ts'

/** The end of the feed, and up to when all before it is final, if known; undefined without a feed. */
export async function readStart(
  connection: Connection,
): Promise<{ readonly cursor: string; readonly finalUnix: number | null } | undefined> {
  const end = await readEnd(connection)
  if (end === undefined) return undefined
  const finalUnix = await finalOnAllChains(connection)
  return { cursor: showCursor(end), finalUnix: finalUnix === 0 ? null : finalUnix }
}
