import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { compileLazily } from '#lib/compile-lazily.ts'
import { Type } from '#lib/type.ts'
import type { Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

export interface SinceKey {
  readonly publicId: string
  readonly owner: string
}

/** What happened to keys after a backup, as far as other sources show. */
export interface KeysSince {
  /** Their secrets are refused: the restored accounts have never heard of them. */
  readonly minted: readonly SinceKey[]
  /** Their secrets work again. */
  readonly revoked: readonly SinceKey[]
}

/** A key in a source: the old store or a log. */
export interface SeenKey extends SinceKey {
  readonly isRevoked: boolean
}

export async function* keysOfStore(connection: Connection): AsyncIterable<SeenKey> {
  for (const row of await connection.run(sql`select public_id, wallet, revoked_unix from keys`))
    yield toSeen(row)
}

export function toSeen(row: Row): SeenKey {
  return {
    publicId: column.text(row, 'public_id'),
    owner: column.text(row, 'wallet'),
    isRevoked: column.integerOrNull(row, 'revoked_unix') !== null,
  }
}

const line = compileLazily(
  Type.Object({
    msg: Type.Union(['minted', 'revoked', 'rotated'].map((kind) => Type.Literal(`key ${kind}`))),
    publicId: Type.String(),
    owner: Type.String(),
    successor: Type.Optional(Type.String()),
  }),
)

/** Of the service's JSON log; other lines are skipped. */
export async function* keysOfLog(file: string): AsyncIterable<SeenKey> {
  for await (const text of createInterface({ input: createReadStream(file) })) {
    if (!text.includes('"key ')) continue
    const value = parse(text)
    if (!line().Check(value)) continue
    const { publicId, owner, successor } = value
    yield { publicId, owner, isRevoked: value.msg !== 'key minted' }
    if (successor !== undefined) yield { publicId: successor, owner, isRevoked: false }
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function compareKeys(
  seen: readonly SeenKey[],
  backup: ReadonlyMap<string, SeenKey>,
): KeysSince {
  const minted = new Map<string, SinceKey>()
  const revoked = new Map<string, SinceKey>()
  for (const { publicId, owner, isRevoked } of seen) {
    const known = backup.get(publicId)
    if (known === undefined) minted.set(publicId, { publicId, owner })
    else if (isRevoked && !known.isRevoked) revoked.set(publicId, { publicId, owner })
  }
  return { minted: byId(minted), revoked: byId(revoked) }
}

function byId(keys: ReadonlyMap<string, SinceKey>): readonly SinceKey[] {
  return [...keys.values()].sort((a, b) => (a.publicId < b.publicId ? -1 : 1))
}
