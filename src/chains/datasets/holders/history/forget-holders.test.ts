import assert from 'node:assert/strict'
import type { Change } from '#chains/indexer/dataset.ts'
import { toStored } from '#lib/stored-integer.ts'
import type { BulkInsert, Connection } from '#store/engine.ts'
import { type Sql, sql } from '#store/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { registerMigrations } from '../../datasets.ts'
import { forgetHolders } from './forget-holders.ts'

const onEach = eachEngine(startPostgres, registerMigrations)

const FORGOTTEN = 1
const KEPT = 2

/** Rows by chain in each table: of the forgotten one more than one statement may delete. */
const ROWS = [
  [FORGOTTEN, 21_000],
  [KEPT, 100],
] as const

const DELETED_MAX = 20_000

const TABLES = [
  'balances',
  'balance_deltas',
  'balance_hours',
  'supply_buckets',
  'holder_spans',
  'holder_totals',
]

const texts = { token: 'text', address: 'text' } as const

const FIVE = toStored(5n)

const FILLED: readonly [BulkInsert, (n: number) => readonly (string | number)[]][] = [
  [
    {
      table: 'balances',
      columns: { ...texts, balance: 'text' },
      constants: { since_unix: 0, last_unix: 0 },
    },
    (n) => [tokenOf(n), addressOf(n), FIVE],
  ],
  [
    {
      table: 'balance_deltas',
      columns: { ...texts, block_number: 'bigint', received: 'text', sent: 'text', kept: 'text' },
      constants: { timestamp_unix: 0, opens_hour: 0 },
    },
    (n) => [tokenOf(n), addressOf(n), n % 50, '5', '0', '0'],
  ],
  [
    { table: 'balance_hours', columns: { ...texts, hour_unix: 'bigint', balance: 'text' } },
    (n) => [tokenOf(n), addressOf(n), 0, FIVE],
  ],
  [
    {
      table: 'supply_buckets',
      columns: {
        token: 'text',
        grain: 'text',
        bucket_unix: 'bigint',
        minted: 'text',
        burned: 'text',
        locked: 'text',
        unlocked: 'text',
      },
    },
    (n) => [tokenOf(n), n < 8 ? 'total' : 'hour', n, '5', '0', '0', '0'],
  ],
  [
    { table: 'holder_spans', columns: { ...texts, from_unix: 'bigint', until_unix: 'bigint' } },
    (n) => [tokenOf(n), addressOf(n), 0, 86_400],
  ],
]

const tokenOf = (n: number) => (n % 4 === 0 ? 'CRYPT' : 'GRAVE')
const addressOf = (n: number) => `0x${n.toString(16).padStart(40, '0')}`

onEach(
  'a chain with many holders is removed in statements of bounded size, and other chains are untouched',
  async ({ engine }) => {
    await engine.write(async (tx) => {
      for (const [into, rowOf] of FILLED)
        for (const [chain_id, length] of ROWS)
          await tx.insert(
            { ...into, constants: { ...into.constants, chain_id } },
            Array.from({ length }, (_, n) => rowOf(n)),
          )
    })
    await engine.write((tx) =>
      tx.insert(
        { table: 'holder_totals', columns: { ...texts, balance: 'text' } },
        Array.from({ length: 21_000 }, (_, n) => [tokenOf(n), addressOf(n), toStored(10n)]),
      ),
    )
    await engine.write(async (connection) => {
      let mostDeleted = 0
      const count = () => countRows(connection)
      const counting: Connection = {
        ...connection,
        insert: (into, rows) => connection.insert(into, rows),
        call: (procedure, input) => connection.call(procedure, input),
        async run(statement: Sql) {
          if (!isDelete(statement)) return connection.run(statement)
          const before = await count()
          const rows = await connection.run(statement)
          mostDeleted = Math.max(mostDeleted, sumOf(before) - sumOf(await count()))
          return rows
        },
      }
      const change: Change = {
        connection: counting,
        chainId: FORGOTTEN,
        finalizedNumber: 0,
        isOlder: false,
        valuesOf: async () => [],
        priceMoved: () => undefined,
      }
      await forgetHolders(change, new Set(['GRAVE']))
      // Only GRAVE is on several chains.
      assert.deepEqual(await count(), [100, 100, 100, 100, 100, 75])
      const sums = await connection.run(sql`select distinct balance from holder_totals`)
      assert.deepEqual(
        sums.map(({ balance }) => balance),
        [FIVE],
      )
      assert.ok(mostDeleted > 0 && mostDeleted <= DELETED_MAX, `${mostDeleted} rows at once`)
    })
  },
)

const isDelete = ({ parts }: Sql) => /^\s*delete/.test(parts[0] ?? '')

const sumOf = (counts: readonly number[]) => counts.reduce((sum, each) => sum + each, 0)

async function countRows(connection: Connection): Promise<number[]> {
  const counts: number[] = []
  for (const table of TABLES) {
    const text = `select count(*) as count from ${table}`
    const [row] = await connection.run({ kind: 'sql', parts: [text], values: [] })
    counts.push(Number(row?.count))
  }
  return counts
}
