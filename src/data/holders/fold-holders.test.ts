import assert from 'node:assert/strict'
import type { Address } from '#base/address.ts'
import { DAY_SECONDS } from '#base/time.ts'
import type { Connection } from '#db/engine.ts'
import { sql } from '#db/sql.ts'
import type { Change } from '#index/dataset.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { registerMigrations } from '../datasets.ts'
import { openPriceBook } from '../prices/price-book.ts'
import { foldHolders } from './fold-holders.ts'

const onPostgres = eachEngine(startPostgres, registerMigrations, ['postgres'])

/** PostgreSQL finds it cheaper to look for a few of so many than to read them all. */
const HOLDERS = 20_000

onPostgres(
  'a fold reads the rows of wallets that moved, not of all holders',
  async ({ engine }) => {
    await engine.write(async (tx) => {
      await tx.run(sql`
      insert into balances (token, address, chain_id, balance, since_unix, last_unix)
      select 'GRAVE', '0x' || md5(cast(n as text)) || '00000000', 1, '5', 0, 0
      from generate_series(1, cast(${HOLDERS} as integer)) n`)
      await tx.run(sql`
      insert into holder_spans (token, address, chain_id, from_unix, until_unix)
      select token, address, 2, 0, cast(${DAY_SECONDS} as bigint) from balances`)
    })
    await engine.read(sql`analyze`)
    const moved = Array.from({ length: 20 }, (_, n): Address => `0x${'ab'.repeat(19)}${10 + n}`)
    const dayUnix = 2 * DAY_SECONDS
    const changes = moved.map((address) => ({
      token: 'GRAVE',
      address,
      fromDay: dayUnix,
      ends: [{ dayUnix, holds: true }],
    }))
    await engine.write(async (connection) => {
      const change: Change = {
        connection,
        chainId: 1,
        finalizedNumber: 0,
        prices: openPriceBook([]),
      }
      const before = await rowsScanned(connection)
      const since = await foldHolders(change, changes)
      assert.equal(since.size, moved.length)
      assert.deepEqual(await rowsScanned(connection), before)
    })
  },
)

/** Rows that this connection found by reading whole tables. */
function rowsScanned(connection: Connection) {
  return connection.run(sql`
    select relname, seq_tup_read from pg_stat_xact_user_tables
    where relname in ('balances', 'holder_spans') order by relname`)
}
