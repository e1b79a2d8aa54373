import { supplyAt } from '#chains/datasets/holders/queries.ts'
import type { AsOfSnapshot } from '#chains/indexer/as-of-snapshot.ts'
import { readUnminted } from '#chains/kinds/burns/unminted.ts'
import type { Connection } from '#store/engine.ts'

/** Excludes what bridges minted and mints undone in their own transaction. */
export async function newlyMinted(
  connection: Connection,
  token: string,
  snapshot?: AsOfSnapshot,
): Promise<bigint> {
  const { minted } = await supplyAt(connection, token, snapshot)
  return minted - (await readUnminted(connection, token, snapshot))
}
