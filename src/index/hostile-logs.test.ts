import assert from 'node:assert/strict'
import { zeroAddress } from 'viem'
import { registerMigrations } from '#data/datasets.ts'
import { readMappingAnomalies } from '#data/mappings.ts'
import { accounts, addresses } from '#devnet/addresses.ts'
import { anomalyGauge } from '#ops/health/gauges.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { unindexedTransfer } from '#test/hostile-tokens/hostile-logs.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import {
  baseWith,
  GENESIS_UNIX,
  inOne,
  inTokenWorld,
  oldBaseWith,
  type TokenWorld,
} from '#test/token-world.ts'

const both = eachEngine(startPostgres, registerMigrations)

const { grave, crypt, usdc, distributor } = addresses.base
const { holder, operator, premium } = accounts
const ether = 10n ** 18n
const U256_MAX = 2n ** 256n - 1n

const flashMint = (supply: bigint) => [
  logOf.mint(grave, holder, U256_MAX - supply),
  logOf.burn(grave, holder, U256_MAX - supply),
]
const minted = [logOf.mint(grave, operator, 5n * ether)]
const payment = [logOf.transfer(usdc, holder, accounts.payTo, 7_000_000n)]

interface Stats {
  readonly totalSupplyRaw: string | null
  readonly circulatingSupplyRaw: string | null
  readonly holderCount: number | null
  readonly totalBurnedRaw: string | null
}

async function statsOf(world: TokenWorld): Promise<Stats> {
  const { data } = await world.read('/api/stats')
  return data as Stats
}

async function assertNoStall(world: TokenWorld): Promise<void> {
  assert.deepEqual(world.failures(), [])
  const { parts } = await world.readiness()
  assert.doesNotMatch(parts['chain base'] ?? '', /stalled/)
}

both(
  'flash mints of all that a uint256 holds stop neither the head nor a fresh index',
  async ({ engine }) => {
    const chain = oldBaseWith(minted, flashMint(5n * ether), flashMint(5n * ether))
    await inTokenWorld(engine, { chain }, async (world) => {
      const assertFigures = async () => {
        await assertNoStall(world)
        const stats = await statsOf(world)
        assert.equal(stats.totalSupplyRaw, `${5n * ether}`)
        assert.equal(stats.totalBurnedRaw, '0')
        assert.equal(stats.holderCount, 1)
      }
      await world.catchUp()
      await assertFigures()
      world.node.chain = chain.add(inOne(flashMint(5n * ether), 7), inOne(flashMint(0n), 8))
      await world.catchUp()
      await assertFigures()
    })
  },
)

both(
  'a burn of half of what a uint256 holds at 1,000 dollars has no value and counts',
  async ({ engine }) => {
    const half = U256_MAX / 2n
    const file = (all: Parameters<NonNullable<Parameters<typeof inTokenWorld>[1]['file']>>[0]) => ({
      ...all,
      tokens: all.tokens.map((token) =>
        token.symbol === 'CRYPT'
          ? { ...token, decimals: 0, price: { kind: 'fixed' as const, usd: '1000' } }
          : token,
      ),
    })
    const chain = baseWith([logOf.mint(crypt, holder, half)], [logOf.burn(crypt, holder, half)])
    await inTokenWorld(engine, { chain, file }, async (world) => {
      await world.catchUp()
      await assertNoStall(world)
      const { data } = await world.read('/api/burns/recent?token=CRYPT')
      const [burn] = data as readonly Record<string, unknown>[]
      assert.equal(burn?.amountRaw, `${half}`)
      assert.equal(burn?.amountUsdAtEvent, null)
    })
  },
)

both(
  'a token that sends more than it received is unknown itself, and others go on',
  async ({ engine }) => {
    const overdraft = [logOf.transfer(grave, premium, holder, 3n * ether)]
    const chain = baseWith(minted, overdraft, payment)
    await inTokenWorld(engine, { chain }, async (world) => {
      await world.catchUp()
      await assertNoStall(world)
      const { totalSupplyRaw, holderCount } = await statsOf(world)
      assert.deepEqual({ totalSupplyRaw, holderCount }, { totalSupplyRaw: null, holderCount: null })
      const { parts } = await world.readiness()
      assert.match(
        parts['holders of GRAVE on base'] ?? '',
        /^unknown \(differs\): .*sent more GRAVE/,
      )
      const { meta } = await world.read('/api/stats')
      assert.deepEqual((meta as { readonly unknown: unknown }).unknown, [
        { chain: 'base', chainId: 8453, token: 'GRAVE', dataset: 'holders', reason: 'differs' },
      ])
    })
  },
)

both(
  'a transfer of another shape makes supply and holders unknown, never 0',
  async ({ engine }) => {
    const odd = { token: grave, from: zeroAddress, to: holder, amount: 4n * ether }
    await inTokenWorld(
      engine,
      { chain: oldBaseWith([unindexedTransfer(odd)], payment) },
      async (world) => {
        await world.catchUp()
        await assertNoStall(world)
        const { totalSupplyRaw, circulatingSupplyRaw, holderCount } = await statsOf(world)
        assert.deepEqual([totalSupplyRaw, circulatingSupplyRaw, holderCount], [null, null, null])
        const { parts } = await world.readiness()
        assert.match(parts['holders of GRAVE on base'] ?? '', /^unknown \(unreadable\): /)
      },
    )
  },
)

const NOTES = 'logs of unlisted tokens for dividends[0], dividends[1] on base'

both(
  'logs of unlisted tokens are a note: counted apart in readiness, metrics and anomalies',
  async ({ engine }) => {
    const stranger = [logOf.claim(distributor, holder, accounts.poor, 0n)]
    await inTokenWorld(engine, { chain: baseWith(stranger, stranger) }, async (world) => {
      await world.catchUp()
      await assertNoStall(world)
      const { ready, parts } = await world.readiness()
      assert.equal(ready, true)
      assert.match(parts[NOTES] ?? '', /^2 logs are of unlisted tokens, the last in block 3: /)
      const { ecosystem } = world
      const found = await engine.snapshot((reads) => readMappingAnomalies(reads, ecosystem))
      assert.deepEqual(
        found.map(({ kind, logs }) => [kind, logs]),
        [['unlisted', 2]],
      )
      assert.deepEqual(await anomalyGauge({ ecosystem, register: engine }).read(), {})
    })
  },
)

for (const blocksAfter of [0, 120])
  both(
    `logs with one index in several transactions are all kept, ${blocksAfter} blocks deep`,
    async ({ engine }) => {
      const burns = [1n, 2n, 3n].map((amount) => logOf.burn(grave, holder, amount))
      const chain = beginChain(8453, GENESIS_UNIX, { logIndexes: 'transaction' })
        .addEmpty(1)
        .add(inOne([logOf.mint(grave, holder, 100n)]), { logs: [...burns, ...payment] })
        .addEmpty(blocksAfter)
      await inTokenWorld(engine, { chain }, async (world) => {
        await world.catchUp()
        await assertNoStall(world)
        const listed: (readonly unknown[])[] = []
        let cursor = ''
        while (listed.length < 4) {
          const { data, meta } = await world.read(`/api/burns/recent?limit=1${cursor}`)
          for (const row of data as readonly Record<string, unknown>[])
            listed.push([row.amountRaw, row.logIndex])
          const { page } = meta as { readonly page: { readonly nextCursor: string | null } }
          if (page.nextCursor === null) break
          cursor = `&cursor=${page.nextCursor}`
        }
        assert.deepEqual(listed, [
          ['3', 0],
          ['2', 0],
          ['1', 0],
        ])
        assert.equal((await statsOf(world)).totalSupplyRaw, '94')
      })
    },
  )
