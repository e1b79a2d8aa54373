import { readTotalSupply } from '#chains/datasets/holders/queries.ts'
import { readUnminted } from '#chains/kinds/burns/unminted.ts'
import type { Connection } from '#store/engine.ts'

/** Excludes what bridges minted and mints undone in their own transaction. */
export async function newlyMinted(connection: Connection, token: string): Promise<bigint> {
  const { minted } = await readTotalSupply(connection, token)
  return minted - (await readUnminted(connection, token))
}
