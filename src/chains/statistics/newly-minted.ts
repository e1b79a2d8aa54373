import { supplyAt } from '#chains/datasets/holders/queries.ts'
import type { Cut } from '#chains/indexer/cut.ts'
import { readUnminted } from '#chains/kinds/burns/unminted.ts'
import type { Connection } from '#store/engine.ts'

/** Excludes what bridges minted and mints undone in their own transaction. */
export async function newlyMinted(
  connection: Connection,
  token: string,
  cut?: Cut,
): Promise<bigint> {
  const { minted } = await supplyAt(connection, token, cut)
  return minted - (await readUnminted(connection, token, cut))
}
