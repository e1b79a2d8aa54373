import assert from 'node:assert/strict'
import type { Address } from '#base/address.ts'
import { registerMigrations } from '#data/datasets.ts'
import { RANKED_MAX, readRank } from '#data/holders/queries.ts'
import { toStored } from '#db/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'

const onEach = eachEngine(startPostgres, registerMigrations)

const other: Address = `0x${'cd'.repeat(20)}`

onEach('a rank beyond those that are counted is unknown', ({ engine }) =>
  engine.write(async (connection) => {
    const addressOf = (n: number): Address => `0x${n.toString(16).padStart(40, '0')}`
    const rows = Array.from({ length: RANKED_MAX + 500 }, (_, n) => [
      'GRAVE',
      addressOf(n),
      toStored(9n),
    ])
    await connection.insert(
      {
        table: 'balances',
        columns: { token: 'text', address: 'text', balance: 'text' },
        constants: { chain_id: 1, since_unix: 0, last_unix: 0 },
      },
      rows,
    )
    const own = { address: other, balance: 5n }
    const scope = { token: 'GRAVE', chainIds: [1] }
    assert.equal(await readRank(connection, scope, { own, leftOut: [] }), null)
  }),
)
