import assert from 'node:assert/strict'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import { filePartsOf } from '#chains/datasets/file-parts.ts'
import { writeBackfill } from '#chains/indexer/backfill/backfill-row.ts'
import { noteForgotten } from '#chains/indexer/chain-notes.ts'
import { applyConfig } from '#chains/indexer/indexed-config/apply-config.ts'
import { readIndexedConfig } from '#chains/indexer/indexed-config/tables.ts'
import { sql } from '#store/sql.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import {
  applyFile,
  GENESIS_UNIX,
  heldBack,
  indexAll,
  withChains,
  zeroOnly,
} from './changed-file-harness.ts'
import { startPostgres } from './postgres.ts'
import { dataRoutesOf, readRoute, refusalOf } from './route-reader.ts'
import { commitDepsOf } from './stepped-index.ts'

const onEach = eachEngine(startPostgres, registerMigrations)

const POINTS = {
  table: 'price_points',
  columns: {
    symbol: 'text',
    chain_id: 'bigint',
    block_number: 'bigint',
    timestamp_unix: 'bigint',
    price: 'text',
  },
} as const

onEach('a chain with very many price points can be removed', ({ engine }) =>
  withChains(async (at) => {
    await indexAll(engine, at())
    const price = '1'.padStart(78, '0')
    const points = Array.from({ length: 150_000 }, (_, index) => [
      ...['GRAVE', 8453, 1_000_000 + index, GENESIS_UNIX + index, price],
    ])
    await engine.write((connection) => connection.insert(POINTS, points))
    const moved = at((file) => ({
      ...file,
      chains: file.chains.map((chain) => ({ ...chain, startBlock: 1 })),
    }))
    const { changes } = await applyFile(engine, moved)
    assert.equal(changes?.length, 2)
    assert.deepEqual(await engine.read(sql`select 1 from price_points limit 1`), [])
  }),
)

onEach('during a re-read, days without prices read so far have no price', ({ engine }) =>
  withChains(async (at) => {
    const ecosystem = at()
    await indexAll(engine, ecosystem)
    const routes = dataRoutesOf({ register: engine, ecosystem })
    const priceOfToday = async () => {
      const { data } = await readRoute(routes, '/api/stats/history?metric=price&period=2d')
      return (data as { readonly points: readonly { readonly value: unknown }[] }).points.at(-1)
        ?.value
    }
    assert.equal(typeof (await priceOfToday()), 'number')
    await engine.write(async (connection) => {
      await noteForgotten(connection, 8453)
      const read = { number: 5, hash: '0xab', timestamp: GENESIS_UNIX + 5 * 3_600 } as const
      const newestFrom = { number: 0, timestamp: 0 }
      await writeBackfill(connection, 8453, {
        newestFrom,
        read,
        folded: read,
        datasets: ['prices'],
      })
    })
    assert.equal(await priceOfToday(), null)
  }),
)

onEach('the share of the minted supply is not shown while balances are read again', ({ engine }) =>
  withChains(async (at) => {
    await indexAll(engine, at())
    const ecosystem = at(heldBack)
    await applyFile(engine, ecosystem)
    const routes = dataRoutesOf({ register: engine, ecosystem })
    assert.equal((await refusalOf(routes, '/api/burns/total')).code, 'data_not_ready')
  }),
)

onEach(
  'a process that waited while another applied its file checks again before it applies its own',
  ({ engine }) =>
    withChains(async (at) => {
      await indexAll(engine, at())
      await indexAll(engine, at(zeroOnly))
      const older = at()
      const deps = await commitDepsOf(engine, older)
      const input = { ...deps, chains: older.chains, file: filePartsOf(older) }
      const waited = { ...input, hasWaited: true } as const
      assert.equal(await applyConfig(waited), undefined)
      const indexed = await engine.snapshot(readIndexedConfig)
      assert.equal(indexed?.digest, filePartsOf(at(zeroOnly)).digest)
    }),
)
