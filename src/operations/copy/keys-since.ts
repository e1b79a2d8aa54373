import type { KeyNote } from '#main/key-notes.ts'
import type { Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

export interface SinceKey {
  readonly publicId: string
  readonly owner: string
}

/** What happened to keys after a backup, as far as notes and the old accounts show. */
export interface KeysSince {
  /** Their secrets are refused: the restored accounts have never heard of them. */
  readonly minted: readonly SinceKey[]
  /** The restore revoked them again. */
  readonly revoked: readonly SinceKey[]
  /** They have the limits of the backup; their owners may set the later ones again. */
  readonly limited: readonly SinceKey[]
}

export interface StoredKey extends SinceKey {
  readonly isRevoked: boolean
  readonly limits: string | null
}

export async function readKeys(connection: Connection): Promise<readonly StoredKey[]> {
  // Keys of 0.2.0 have none.
  const limited = await connection.run(sql`
    select 1 from migrations where name = 'limits of keys'`)
  const limits = limited.length > 0 ? sql`limits` : sql`null as limits`
  const found = await connection.run(sql`
    select public_id, wallet, revoked_unix, ${limits} from keys order by public_id`)
  return found.map(toKey)
}

function toKey(row: Row): StoredKey {
  return {
    publicId: column.text(row, 'public_id'),
    owner: column.text(row, 'wallet'),
    isRevoked: column.integerOrNull(row, 'revoked_unix') !== null,
    limits: column.textOrNull(row, 'limits'),
  }
}

export async function newestUseUnix(connection: Connection): Promise<number> {
  const [row] = await connection.run(sql`select max(used_unix) as newest from used_messages`)
  return (row && column.integerOrNull(row, 'newest')) ?? 0
}

export interface SeenKeys {
  readonly notes: readonly KeyNote[]
  readonly old: readonly StoredKey[]
}

export function compareKeys(
  { notes, old }: SeenKeys,
  backup: { readonly keys: readonly StoredKey[]; readonly createdMs: number },
): KeysSince {
  const known = new Map(backup.keys.map((key) => [key.publicId, key]))
  const later = notes.filter(({ timeMs }) => timeMs >= backup.createdMs)
  const revoked = [
    ...notes.filter(({ kind }) => kind === 'revoked'),
    ...old.filter(({ isRevoked }) => isRevoked),
  ]
  const limited = [
    ...later.filter(({ kind }) => kind === 'limited'),
    ...old.filter(({ publicId, limits }) => known.get(publicId)?.limits !== limits),
  ]
  return {
    minted: byId([...notes, ...old].filter(({ publicId }) => !known.has(publicId))),
    revoked: byId(revoked.filter(({ publicId }) => known.get(publicId)?.isRevoked === false)),
    limited: byId(limited.filter(({ publicId }) => known.has(publicId))),
  }
}

function byId(keys: readonly SinceKey[]): readonly SinceKey[] {
  const unique = new Map(keys.map(({ publicId, owner }) => [publicId, { publicId, owner }]))
  return [...unique.values()].sort((a, b) => (a.publicId < b.publicId ? -1 : 1))
}
