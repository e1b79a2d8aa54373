import assert from 'node:assert/strict'
import { registerMigrations } from '#data/datasets.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { extremesFrom, foldHours } from './hours.ts'

const onEach = eachEngine(startPostgres, registerMigrations)

const point = (symbol: string, block: number, liquidity: bigint | null) => ({
  ...{ symbol, chainId: 1, blockNumber: block, unix: 3_600 + block, price: 7n, liquidity },
})

onEach('an hour is the same however its blocks are committed', ({ engine }) =>
  engine.write(async (connection) => {
    const liquidities = [null, 900n, 1_000n, 20n]
    const points = (symbol: string) => liquidities.map((each, at) => point(symbol, at, each))
    await foldHours({ connection }, points('TOGETHER'))
    for (const each of points('APART')) await foldHours({ connection }, [each])
    for (const each of points('BACK').reverse()) await foldHours({ connection }, [each])
    const extremes = async (symbol: string) =>
      (await extremesFrom(connection, symbol, 3_600)).get(3_600)
    const together = await extremes('TOGETHER')
    assert.deepEqual(together?.high, { price: 7n, liquidity: 1_000n })
    assert.deepEqual(together.low, together.high)
    for (const symbol of ['APART', 'BACK']) assert.deepEqual(await extremes(symbol), together)
  }),
)
