import type { Connection } from '#store/engine.ts'
import { column, empty, type Row, sql } from '#store/sql.ts'
import { turningDays } from '../holder-days.ts'

const PAGE = 20_000

/** The database counts wallets on one chain; a wallet on several is one holder. */
export async function countHoldersAnew(
  connection: Connection,
  {
    symbol: token,
    isOnSeveralChains,
  }: { readonly symbol: string; readonly isOnSeveralChains: boolean },
): Promise<void> {
  await connection.run(sql`delete from holder_buckets where token = ${token}`)
  await connection.run(sql`
    insert into holder_buckets (token, grain, bucket_unix, gained, lost)
    select token, 'day', day_unix, sum(holds), sum(1 - holds) from holder_turns days
    where token = ${token} ${isOnSeveralChains ? sql`and not ${elsewhere}` : empty}
    group by token, day_unix`)
  if (isOnSeveralChains) await countSeveralChains(connection, token)
  await connection.run(sql`
    insert into holder_buckets (token, grain, bucket_unix, gained, lost)
    select token, 'total', 0, sum(gained), sum(lost) from holder_buckets
    where token = ${token} and grain = 'day' group by token`)
}

async function countSeveralChains(connection: Connection, token: string): Promise<void> {
  const turns = await turnsOfSeveralChains(connection, token)
  await connection.insert(
    {
      table: 'holder_buckets',
      columns: {
        token: 'text',
        grain: 'text',
        bucket_unix: 'bigint',
        gained: 'bigint',
        lost: 'bigint',
      },
      conflict: `on conflict (token, grain, bucket_unix) do update set
        gained = holder_buckets.gained + excluded.gained, lost = holder_buckets.lost + excluded.lost`,
    },
    [...turns].map(([dayUnix, { gained, lost }]) => [token, 'day', dayUnix, gained, lost]),
  )
}

const elsewhere = sql`exists (select 1 from holder_turns others
  where others.token = days.token and others.address = days.address
    and others.chain_id <> days.chain_id)`

async function turnsOfSeveralChains(
  connection: Connection,
  token: string,
): Promise<ReadonlyMap<number, { gained: number; lost: number }>> {
  const turns = new Map<number, { gained: number; lost: number }>()
  for (let after = ''; ; ) {
    const page = await connection.run(sql`
      select address, chain_id, day_unix, holds from holder_turns days
      where token = ${token} and address > ${after} and ${elsewhere}
      order by address limit ${PAGE}`)
    const isLast = page.length < PAGE
    const cut = isLast ? undefined : page.at(-1)?.address
    // The last wallet of a full page may continue on the next.
    const whole = page.filter((row) => row.address !== cut)
    countTurns(turns, whole)
    if (isLast) return turns
    after = column.text(whole.at(-1) ?? {}, 'address')
  }
}

function countTurns(turns: Map<number, { gained: number; lost: number }>, page: readonly Row[]) {
  for (const rows of Map.groupBy(page, (row) => row.address).values()) {
    const days = rows.map((row) => ({
      chainId: column.integer(row, 'chain_id'),
      dayUnix: column.integer(row, 'day_unix'),
      holds: column.flag(row, 'holds'),
    }))
    for (const [dayUnix, direction] of turningDays(days)) {
      const turn = turns.get(dayUnix) ?? { gained: 0, lost: 0 }
      if (direction === 1) turn.gained += 1
      else turn.lost += 1
      turns.set(dayUnix, turn)
    }
  }
}
