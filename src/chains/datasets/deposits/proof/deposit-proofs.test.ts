import assert from 'node:assert/strict'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import { writeBackfill } from '#chains/indexer/backfill/backfill-row.ts'
import { sql } from '#store/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { applyProof } from './deposit-proofs.ts'

const onEach = eachEngine(startPostgres, registerMigrations)

const CHAIN = 8453

onEach(
  'a proof stores nothing in blocks whose deposits have yet to be read',
  async ({ engine }) => {
    const at = (number: number) => ({ number, hash: '0xaa', timestamp: number }) as const
    await engine.write((connection) =>
      connection.run(sql`
      insert into positions (chain_id, number, hash, timestamp_unix, head_number, safe_number, finalized_number)
      values (${CHAIN}, 100, '0xff', 100, 100, 90, 90)`),
    )
    const prove = (number: number) =>
      engine.write((connection) =>
        applyProof(connection, {
          chainId: CHAIN,
          block: { number, hash: '0xbb' },
          facts: [],
        }),
      )
    const plan = { newestFrom: at(50), read: at(20), folded: at(20) }
    for (const [datasets, left, stored] of [
      [null, 30, 60],
      [['deposits'], 60, 10],
    ] as const) {
      await engine.write((connection) =>
        connection.run(sql`delete from backfills where chain_id = ${CHAIN}`),
      )
      await engine.write((connection) => writeBackfill(connection, CHAIN, { ...plan, datasets }))
      assert.equal(await prove(left), 'left')
      assert.equal(await prove(stored), 'as-stored')
    }
  },
)
