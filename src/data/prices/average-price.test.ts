import assert from 'node:assert/strict'
import { test } from 'node:test'
import { registerMigrations } from '#data/datasets.ts'
import type { Connection } from '#db/engine.ts'
import { rows, sql } from '#db/sql.ts'
import localEcosystem from '#devnet/local-ecosystem.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { onSqlite } from '#test/store/each-engine.ts'
import { averagePrice } from './price-book.ts'

test('a busy pool costs an average no more reads than a quiet one', () =>
  onSqlite(registerMigrations, ({ engine }) =>
    engine.write(async (connection) => {
      const { tokens } = parseEcosystem('local', localEcosystem)
      const points = Array.from({ length: 900 }, (_, index) => ['GRAVE', index, 1_000 + index])
      const feed = [['WETH', 1, 1_000]]
      const list = [...points, ...feed].map(([symbol = '', block = 0, unix = 0]) => [
        ...[symbol, 8453, block, unix],
        ...[(10n ** 54n).toString(), (10n ** 30n).toString()],
      ])
      await connection.run(sql`
        insert into price_points
          (symbol, chain_id, block_number, timestamp_unix, price, liquidity)
        values ${rows(list)}`)
      let reads = 0
      const counted: Connection = {
        ...connection,
        run: (...args) => {
          reads += 1
          return connection.run(...args)
        },
      }
      const window = { fromUnix: 1_000, untilUnix: 1_900 }
      const average = await averagePrice(counted, tokens, { symbol: 'GRAVE', window })
      assert.ok('price' in average)
      assert.equal(reads, 4)
    }),
  ))
