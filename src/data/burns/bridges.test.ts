import assert from 'node:assert/strict'
import { test } from 'node:test'
import { zeroAddress } from 'viem'
import { registerMigrations } from '#data/datasets.ts'
import { accounts, addresses } from '#devnet/addresses.ts'
import type { LocalFile } from '#devnet/local-ecosystem.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { bridgesOn } from '#test/hostile-tokens/bridges.ts'
import { bridgeLog } from '#test/hostile-tokens/hostile-logs.ts'
import { startPostgres } from '#test/postgres.ts'
import { commitDepsOf, stepIndex } from '#test/stepped-index.ts'
import { eachEngine, onSqlite } from '#test/store/each-engine.ts'
import { baseWith, inTokenWorld, oldBaseWith, type TokenWorld } from '#test/token-world.ts'

const both = eachEngine(startPostgres, registerMigrations)

const { grave } = addresses.base
const { holder, operator } = accounts
const [standard] = bridgesOn('base')
assert.ok(standard !== undefined)
const moved = (amount: bigint) =>
  bridgeLog(standard, { token: grave, from: holder, to: holder, amount })

function withBridge(file: LocalFile): EcosystemFile {
  const { chain, address, event, amount } = standard ?? {}
  assert.ok(chain !== undefined && address !== undefined && event !== undefined)
  assert.ok(amount !== undefined)
  const bridges = [{ chain, address, event, amount }]
  return {
    ...file,
    tokens: file.tokens.map((token) => (token.symbol === 'GRAVE' ? { ...token, bridges } : token)),
  }
}

async function burnsOf(world: TokenWorld) {
  const totals = (await world.read('/api/burns/total')).data as Record<string, unknown>
  const stats = (await world.read('/api/stats')).data as Record<string, unknown>
  const { totalBurnedRaw, burnCount, pctOfMinted } = totals
  return { totalBurnedRaw, burnCount, pctOfMinted, totalSupplyRaw: stats.totalSupplyRaw }
}

/** 1,000 minted; 400 leave by the bridge, 100 come back; 40 and 10 are burned. */
const crossings = [
  [logOf.mint(grave, holder, 1_000n)],
  [logOf.burn(grave, holder, 400n), moved(400n)],
  [moved(100n), logOf.mint(grave, holder, 100n)],
  [logOf.burn(grave, holder, 40n)],
  // Someone moves one wei to hide a burn.
  [logOf.burn(grave, holder, 10n), moved(1n)],
]

for (const [words, build] of [
  ['followed', baseWith],
  ['read as history', oldBaseWith],
] as const)
  both(
    `moves of a bridge leave burns and newly minted but not the supply, ${words}`,
    async ({ engine }) =>
      inTokenWorld(engine, { chain: build(...crossings), file: withBridge }, async (world) => {
        await world.catchUp()
        assert.deepEqual(await burnsOf(world), {
          ...{ totalBurnedRaw: '50', burnCount: 2, pctOfMinted: 5, totalSupplyRaw: '650' },
        })
      }),
  )

test('while history is read, no mint of a bridge or of a flash loan makes a figure fail', () =>
  onSqlite(registerMigrations, async ({ engine }) => {
    const flash = [logOf.mint(grave, holder, 10n ** 9n), logOf.burn(grave, holder, 10n ** 9n)]
    const chain = oldBaseWith(
      ...crossings,
      [moved(10n ** 6n), logOf.mint(grave, holder, 10n ** 6n)],
      flash,
    )
    await inTokenWorld(engine, { chain, file: withBridge }, async (world) => {
      // With so short ranges, and a clock that leaps, every block is a segment.
      world.node.faults.rangeMax = { blocks: 1, dialect: 'geth' }
      let now = 0
      const clock = () => (now += 10_000)
      const index = stepIndex({ ...commitDepsOf(engine, world.ecosystem), clock })
      const [base] = world.ecosystem.chains
      assert.ok(base !== undefined)
      const supplies = new Set<unknown>()
      while (await index.advance(base)) supplies.add((await burnsOf(world)).totalSupplyRaw)
      assert.deepEqual([...supplies], ['0', '1000', '600', '700', '660', '650', '1000650'])
    })
  }))

test('burns from an address that `where` leaves out are not counted', () =>
  onSqlite(registerMigrations, async ({ engine }) => {
    const leaveOut = (file: LocalFile): EcosystemFile => ({
      ...file,
      burns: file.burns.map((burn) => ({ ...burn, where: { from: { not: [holder] } } })),
    })
    const chain = baseWith(
      [logOf.mint(grave, holder, 50n), logOf.mint(grave, operator, 50n)],
      [logOf.burn(grave, holder, 7n)],
      [logOf.burn(grave, operator, 9n)],
    )
    await inTokenWorld(engine, { chain, file: leaveOut }, async (world) => {
      await world.catchUp()
      const { totalBurnedRaw, burnCount, totalSupplyRaw } = await burnsOf(world)
      assert.deepEqual([totalBurnedRaw, burnCount, totalSupplyRaw], ['9', 1, '84'])
    })
  }))

both(
  'units minted to the zero address are supply, burned, and equal to totalSupply()',
  async ({ engine }) => {
    const chain = oldBaseWith([
      logOf.transfer(grave, zeroAddress, zeroAddress, 1_000n),
      logOf.mint(grave, holder, 9_000n),
    ])
    await inTokenWorld(engine, { chain }, async (world) => {
      await world.catchUp()
      assert.deepEqual(await burnsOf(world), {
        ...{ totalBurnedRaw: '1000', burnCount: 1, pctOfMinted: 10, totalSupplyRaw: '10000' },
      })
    })
  },
)
