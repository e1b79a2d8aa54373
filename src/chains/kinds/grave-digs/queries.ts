import type { Address } from '#domain/address.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

export interface RankedDigger {
  readonly address: Address
  readonly amount: bigint
  readonly digs: number
  readonly firstUnix: number
  readonly lastUnix: number
}

/** Names the dataset as a literal, to match the partial index. */
export async function readLeaderboard(
  connection: Connection,
  input: { readonly token: string; readonly limit: number },
): Promise<readonly RankedDigger[]> {
  const found = await connection.run(sql`
    select account, amount, events, first_unix, last_unix from event_account_sums
    where dataset = 'grave-digs' and token = ${input.token}
    order by amount desc, last_unix, account
    limit ${input.limit}`)
  return found.map((row) => ({
    address: column.hex(row, 'account'),
    amount: column.bigint(row, 'amount'),
    digs: column.integer(row, 'events'),
    firstUnix: column.integer(row, 'first_unix'),
    lastUnix: column.integer(row, 'last_unix'),
  }))
}
