import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readGate } from '#accounts/metering/tier.ts'
import { isRefusal } from '#base/refusal.ts'
import { registerMigrations } from '#data/datasets.ts'
import { accounts, addresses } from '#devnet/addresses.ts'
import type { LocalFile } from '#devnet/local-ecosystem.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import type { BlockPlan, LogPlan } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { onSqlite } from '#test/store/each-engine.ts'
import { baseWith, GENESIS_UNIX, inOne, inTokenWorld, type TokenWorld } from '#test/token-world.ts'

const { grave, ethUsdFeed, market } = addresses.base
const { gravePair } = market
const { holder } = accounts
const ether = 10n ** 18n
const NEW_POOL = `0x${'9a'.repeat(20)}` as const

/** Ether at 2,500 dollars, and GRAVE at the dollars given, with 1,000 ether beside it. */
const etherAt = (usd: bigint) => logOf.answer(ethUsdFeed, usd * 10n ** 8n, 1n)
const graveAt = (usd: bigint, at: `0x${string}` = gravePair) =>
  logOf.sync(at, 1_000n * ether, (2_500n * 1_000n * ether) / usd)
const minted = logOf.mint(grave, holder, 1_000n * ether)
const burn = logOf.burn(grave, holder, ether)
const alone = (log: LogPlan, secondsApart = 2): BlockPlan => ({ ...inOne([log]), secondsApart })

type Price = NonNullable<EcosystemFile['tokens'][number]['price']>
const pool = { kind: 'uniswap-v2', chain: 'base', address: gravePair, quote: 'WETH' } as const

/** The local file with another price of GRAVE. */
function graveBy(price: Price): (file: LocalFile) => EcosystemFile {
  return (file) => ({
    ...file,
    tokens: file.tokens.map((token) => (token.symbol === 'GRAVE' ? { ...token, price } : token)),
  })
}

async function burnValues(world: TokenWorld): Promise<readonly unknown[]> {
  const { data } = await world.read('/api/burns/recent?token=GRAVE')
  return (data as readonly Record<string, unknown>[]).map((row) => row.amountUsdAtEvent).reverse()
}

async function graveStats(world: TokenWorld) {
  const data = (await world.read('/api/stats')).data as {
    readonly tokens: readonly { readonly symbol: string; readonly priceUnknown: string | null }[]
    readonly prices: Readonly<Record<string, { readonly asOfUnix: number; readonly usd: number }>>
  }
  const token = data.tokens.find(({ symbol }) => symbol === 'GRAVE')
  return { priceUnknown: token?.priceUnknown, price: data.prices.GRAVE }
}

test('a burn is valued at the close of the block before, whatever is traded around it', () =>
  onSqlite(registerMigrations, async ({ engine }) => {
    const around = inOne([graveAt(9_000n), burn, graveAt(1n)])
    const chain = baseWith([minted, etherAt(2_500n), graveAt(10n)]).add(
      around,
      alone(graveAt(20n)),
      // A later block of the same second.
      { ...inOne([burn], 5), secondsApart: 0 },
      { ...inOne([graveAt(9_000n)], 6), secondsApart: 0 },
    )
    await inTokenWorld(engine, { chain: chain.addEmpty(1) }, async (world) => {
      await world.catchUp()
      assert.deepEqual(await burnValues(world), [10, 20])
    })
  }))

test('a price is as new as its newest input', () =>
  onSqlite(registerMigrations, async ({ engine }) => {
    const chain = baseWith([minted, etherAt(2_500n), graveAt(10n)]).add(alone(etherAt(5_000n), 60))
    await inTokenWorld(engine, { chain: chain.addEmpty(3) }, async (world) => {
      await world.catchUp()
      const { price } = await graveStats(world)
      assert.deepEqual([price?.usd, price?.asOfUnix], [20, GENESIS_UNIX + 64])
    })
  }))

/** 2023-11-15. */
const NEXT_DAY = 1_700_006_400

for (const since of [5, '2023-11-15'] as const)
  test(`each source of a list counts from its own \`since\` (${since}) on`, () =>
    onSqlite(registerMigrations, async ({ engine }) => {
      const chain = baseWith([minted, etherAt(2_500n), graveAt(10n)])
        // Block 3: the new pool does not count yet.
        .add(alone(graveAt(77n, NEW_POOL)), alone(burn))
        .add(alone(graveAt(30n, NEW_POOL), NEXT_DAY - GENESIS_UNIX))
        // Block 6: the old pool no longer counts.
        .add(alone(graveAt(1n)), alone({ ...burn, transaction: 'later' }))
        .addEmpty(1)
      const file = graveBy([pool, { ...pool, address: NEW_POOL, since }])
      await inTokenWorld(engine, { chain, file }, async (world) => {
        await world.catchUp()
        assert.deepEqual(await burnValues(world), [10, 30])
        assert.equal((await graveStats(world)).price?.usd, 30)
      })
    }))

test('a sum of dollars says how many of its events have no value, and is null without any', () =>
  onSqlite(registerMigrations, async ({ engine }) => {
    const early = baseWith([minted], [burn], [burn]).addEmpty(1)
    await inTokenWorld(engine, { chain: early }, async (world) => {
      const month = async () => {
        const { data } = await world.read('/api/burns/total?token=GRAVE')
        const { burnCount, burnedUsdAtEvent, unpricedCount } = (
          data as { readonly last30d: Record<string, unknown> }
        ).last30d
        return { burnCount, burnedUsdAtEvent, unpricedCount }
      }
      await world.catchUp()
      assert.deepEqual(await month(), { burnCount: 2, burnedUsdAtEvent: null, unpricedCount: 2 })
      world.node.chain = early
        .add(inOne([etherAt(2_500n), graveAt(10n)]), alone({ ...burn, transaction: 'priced' }))
        .addEmpty(1)
      await world.catchUp()
      assert.deepEqual(await month(), { burnCount: 3, burnedUsdAtEvent: 10, unpricedCount: 2 })
    })
  }))

test('below its floor a pool gives no price, no value and no gate, and says why', () =>
  onSqlite(registerMigrations, async ({ engine }) => {
    // Five million dollars on both sides together, then 50.
    const drained = logOf.sync(gravePair, ether / 100n, ether / 40n)
    const chain = baseWith([minted, etherAt(2_500n), graveAt(10n)], [burn])
      .add(alone(drained, 60))
      .add(alone({ ...burn, transaction: 'later' }), alone(etherAt(2_500n), 3_600))
      .addEmpty(1)
    const file = graveBy({ ...pool, minLiquidityUsd: '10000' })
    await inTokenWorld(engine, { chain, file }, async (world) => {
      await world.catchUp()
      assert.deepEqual(await burnValues(world), [10, null])
      assert.equal((await graveStats(world)).priceUnknown, 'low_liquidity')
      const { parts } = await world.readiness()
      assert.equal(parts['price of GRAVE'], 'unknown (low_liquidity of GRAVE)')
      const { ecosystem } = world
      const clock = () => world.node.chain.head.timestamp * 1_000
      const refused = await readGate({ register: engine, ecosystem, clock }, holder)
      assert.ok(isRefusal(refused))
      assert.deepEqual(
        [refused.code, refused.message],
        ['gate_unavailable', 'The price of GRAVE is unknown (low_liquidity of GRAVE).'],
      )
    })
  }))

test('a feed older than `staleAfterSeconds` values nothing, and its age is the reason', () =>
  onSqlite(registerMigrations, async ({ engine }) => {
    const chain = baseWith([minted, etherAt(2_500n), graveAt(10n)])
      .add(alone(burn, 90_000 - 2), alone({ ...burn, transaction: 'later' }, 90_000))
      .addEmpty(1)
    await inTokenWorld(engine, { chain }, async (world) => {
      await world.catchUp()
      assert.deepEqual(await burnValues(world), [10, null])
      assert.equal((await graveStats(world)).priceUnknown, 'stale')
      const { parts } = await world.readiness()
      assert.equal(parts['price of GRAVE'], 'unknown (stale of WETH)')
    })
  }))
