import { findKey, markRevoked } from '#accounts/keys/key-store.ts'
import type { Connection } from '#store/engine.ts'
import { UpkeepError } from '../report.ts'

export interface Revoked {
  readonly revoked: readonly string[]
  /** Ids of keys that were revoked before. */
  readonly before: readonly string[]
}

/** Revokes all of them in one transaction, or none if one is unknown. */
export async function revokeKeys(
  connection: Connection,
  publicIds: readonly string[],
  nowUnix: number,
): Promise<Revoked> {
  const [revoked, before, unknown]: [string[], string[], string[]] = [[], [], []]
  // In one order, so that two commands cannot deadlock.
  for (const publicId of [...new Set(publicIds)].sort()) {
    const key = await findKey(connection, publicId)
    if (key === undefined) unknown.push(publicId)
    else if ((await markRevoked(connection, { publicId, nowUnix })) === undefined)
      before.push(publicId)
    else revoked.push(publicId)
  }
  if (unknown.length > 0)
    throw new UpkeepError(
      `no key has the publicId ${unknown.join(', ')}; nothing was revoked, "sexton keys list" shows all`,
    )
  return { revoked, before }
}
