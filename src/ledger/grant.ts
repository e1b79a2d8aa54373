import type { MicroUsd } from '#domain/money.ts'
import type { Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { join, type Sql, sql } from '#store/sql.ts'
import { GRANTS, keyAccount } from './account.ts'
import { post } from './post.ts'

/** Money that the operator gives to a key. It is not a deposit, because it came from no chain. */
export interface Grant {
  /** Chosen by the operator; one id gives once. */
  readonly id: string
  readonly publicId: string
  readonly microUsd: MicroUsd
  readonly reason: string
  readonly createdUnix: number
}

/** Call in a transaction that locks the key. `conflict`: the id gave something else before. */
export async function postGrant(
  connection: Connection,
  grant: Grant,
): Promise<'created' | 'exists' | 'conflict'> {
  const { id, publicId, microUsd, reason, createdUnix } = grant
  const made = await connection.run(sql`
    insert into grants (id, public_id, micro_usd, reason, created_unix)
    values (${id}, ${publicId}, ${microUsd}, ${reason}, ${createdUnix})
    on conflict (id) do nothing returning id`)
  if (made.length === 0) return (await isSame(connection, grant)) ? 'exists' : 'conflict'
  await post(connection, {
    id: `grant:${id}`,
    kind: 'grant',
    reference: publicId,
    createdUnix,
    postings: [
      { account: GRANTS, microUsd: -microUsd },
      { account: keyAccount(publicId), microUsd },
    ],
  })
  return 'created'
}

export async function readGrants(
  reads: { run(statement: Sql): Promise<readonly Row[]> },
  ids: readonly string[],
): Promise<readonly Pick<Grant, 'id' | 'reason'>[]> {
  const found = await reads.run(sql`select id, reason from grants where id in (${join(ids)})`)
  return found.map((row) => ({ id: column.text(row, 'id'), reason: column.text(row, 'reason') }))
}

async function isSame(connection: Connection, grant: Grant): Promise<boolean> {
  const [row] = await connection.run(sql`
    select public_id, micro_usd, reason from grants where id = ${grant.id}`)
  return (
    row !== undefined &&
    column.text(row, 'public_id') === grant.publicId &&
    column.amount(row, 'micro_usd') === grant.microUsd &&
    column.text(row, 'reason') === grant.reason
  )
}
