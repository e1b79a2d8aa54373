import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { empty, sql } from '#store/sql.ts'
import { BURNS } from './dataset.ts'

/** When a token was first and last burned on a chain (Unix seconds); nulls when it never was. */
export async function firstAndLastBurn(
  connection: Connection,
  token: string,
  chainId: number,
): Promise<{ readonly firstUnix: number | null; readonly lastUnix: number | null }> {
  const ofChain = sql`from events
    where dataset = ${BURNS} and token = ${token} and chain_id = ${chainId}`
  const [row] = await connection.run(sql`
    select
      (select timestamp_unix ${ofChain} order by timestamp_unix limit 1) as first_unix,
      (select timestamp_unix ${ofChain} order by timestamp_unix desc limit 1) as last_unix`)
  return {
    firstUnix: row === undefined ? null : column.integerOrNull(row, 'first_unix'),
    lastUnix: row === undefined ? null : column.integerOrNull(row, 'last_unix'),
  }
}

/** One token's burns of a UTC day on a chain. */
export interface BurnDay {
  readonly dayUnix: number
  readonly amount: bigint
  readonly usd: bigint
  readonly events: number
  readonly priced: number
}

/** Days with burns from a day on, oldest first; several rows of a day where several chains count. */
export async function readBurnDays(
  connection: Connection,
  input: { readonly token: string; readonly chainId?: number; readonly fromUnix: number },
): Promise<readonly BurnDay[]> {
  const found = await connection.run(sql`
    select bucket_unix, amount, usd, events, priced from event_buckets
    where dataset = ${BURNS} and token = ${input.token} and grain = 'day'
      and bucket_unix >= ${input.fromUnix}
      ${input.chainId === undefined ? empty : sql`and chain_id = ${input.chainId}`}
    order by bucket_unix, chain_id`)
  return found.map((row) => ({
    dayUnix: column.integer(row, 'bucket_unix'),
    amount: column.u256(row, 'amount'),
    usd: column.u256(row, 'usd'),
    events: column.integer(row, 'events'),
    priced: column.integer(row, 'priced'),
  }))
}
