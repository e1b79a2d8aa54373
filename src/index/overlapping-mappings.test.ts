import assert from 'node:assert/strict'
import { test } from 'node:test'
import { zeroAddress } from 'viem'
import { registerMigrations } from '#data/datasets.ts'
import { accounts, addresses, burnAddress } from '#devnet/addresses.ts'
import type { LocalFile } from '#devnet/local-ecosystem.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { type Chance, chanceOf } from '#test/chance.ts'
import { indexedTransfer } from '#test/hostile-tokens/hostile-logs.ts'
import { startPostgres } from '#test/postgres.ts'
import { differenceOf } from '#test/stepped-index.ts'
import { eachEngine, onSqlite } from '#test/store/each-engine.ts'
import { baseWith, inTokenWorld, oldBaseWith, type TokenWorld } from '#test/token-world.ts'

const both = eachEngine(startPostgres, registerMigrations)

const { grave, usdc } = addresses.base
const { holder, operator, premium, treasury, payTo } = accounts
const payer = accounts.relayer

const TRANSFER = 'event Transfer(address indexed from, address indexed to, uint256 value)'
type Payout = NonNullable<EcosystemFile['dividends']>[number]
const payout = (token: 'GRAVE' | 'USDC', where: NonNullable<Payout['where']>): Payout => ({
  ...{ chain: 'base', address: token === 'GRAVE' ? grave : usdc, token, event: TRANSFER },
  ...{ kind: 'claim', recipient: 'to', amount: 'value', where },
})
const withPayouts =
  (...payouts: readonly Payout[]) =>
  (file: LocalFile): EcosystemFile => ({ ...file, dividends: [...file.dividends, ...payouts] })

/** The payer mints, pays a holder, burns in both ways, and pays the service. */
const payments = [
  [logOf.mint(grave, payer, 1_000n)],
  [logOf.transfer(grave, payer, holder, 100n), logOf.transfer(grave, payer, treasury, 30n)],
  [logOf.transfer(grave, payer, burnAddress, 20n), logOf.burn(grave, payer, 10n)],
  [logOf.transfer(usdc, holder, payTo, 5n), logOf.transfer(usdc, payer, payTo, 7n)],
]

async function rowsOf(world: TokenWorld, path: string): Promise<readonly string[]> {
  const { data } = await world.read(path)
  const rows = data as readonly { readonly amountRaw: string; readonly kind?: string }[]
  return rows.map(({ amountRaw, kind }) => [amountRaw, kind].filter(Boolean).join(' ')).sort()
}

for (const [words, build] of [
  ['at the head', baseWith],
  ['in history', oldBaseWith],
] as const)
  both(
    `a log that several mappings match goes to each dataset once, ${words}`,
    async ({ engine }) => {
      // The first of two mappings that match within a dataset decides its kind.
      const toTreasury = { ...payout('GRAVE', { to: [treasury] }), kind: 'distribution' as const }
      const byPayer = payout('GRAVE', { from: [payer] })
      const file = withPayouts(toTreasury, byPayer, payout('USDC', { from: [payer] }))
      await inTokenWorld(engine, { chain: build(...payments), file }, async (world) => {
        await world.catchUp()
        assert.deepEqual(world.failures(), [])
        assert.deepEqual(await rowsOf(world, '/api/burns/recent'), ['10', '20'])
        assert.deepEqual(await rowsOf(world, '/api/dividends/recent'), [
          ...['10 claim', '100 claim', '20 claim', '30 distribution', '7 claim'],
        ])
      })
    },
  )

both('each of two mappings reads the logs that are indexed as its event', async ({ engine }) => {
  const of721 = 'event Transfer(address indexed from, address indexed to, uint256 indexed value)'
  const at = { address: treasury, where: { to: [holder] } }
  const file = withPayouts(
    { ...payout('GRAVE', {}), ...at },
    { ...payout('GRAVE', {}), ...at, event: of721, kind: 'distribution' },
  )
  const transfer = { token: treasury, from: payer, to: holder }
  const logs = [1n, 2n, 3n].flatMap((amount) => [
    logOf.transfer(treasury, payer, holder, amount),
    indexedTransfer({ ...transfer, amount: amount + 3n }),
  ])
  await inTokenWorld(engine, { chain: baseWith(logs), file }, async (world) => {
    await world.catchUp()
    assert.deepEqual(await rowsOf(world, '/api/dividends/recent'), [
      ...['1 claim', '2 claim', '3 claim'],
      ...['4 distribution', '5 distribution', '6 distribution'],
    ])
  })
})

const people = [holder, operator, payer, treasury, burnAddress, payTo, zeroAddress] as const

/** Some mappings of one event, each for a random choice of senders and receivers. */
function randomPayouts(chance: Chance): readonly Payout[] {
  const some = () => people.filter(() => chance.happens(0.4))
  return Array.from({ length: chance.integer(2, 5) }, () => {
    const [from, to] = [some(), some()]
    const where = {
      ...(from.length > 0 && chance.happens(0.7) && { from }),
      ...(to.length > 0 && chance.happens(0.7) && { to }),
    }
    const kind = chance.pick(['claim', 'distribution'] as const)
    return { ...payout(chance.pick(['GRAVE', 'GRAVE', 'USDC']), where), kind }
  })
}

function randomTransfers(chance: Chance) {
  return Array.from({ length: 25 }, () =>
    Array.from({ length: chance.integer(1, 4) }, () => {
      const [from, to] = [chance.pick(people), chance.pick(people)]
      return logOf.transfer(chance.pick([grave, usdc]), from, to, BigInt(chance.integer(1, 99)))
    }),
  )
}

const SEEDS = 12

test(`files whose mappings overlap give one register, followed or read as history (${SEEDS} seeds)`, async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const chance = chanceOf(`overlapping mappings ${seed}`)
    const file = withPayouts(...randomPayouts(chance.apart('file')))
    const lively = baseWith([logOf.mint(grave, premium, 9n)], ...randomTransfers(chance))
    await onSqlite(registerMigrations, ({ engine: followed }) =>
      onSqlite(registerMigrations, async ({ engine: read }) => {
        const old = lively.addEmpty(120)
        await inTokenWorld(followed, { chain: baseWith(), file }, async (world) => {
          await world.catchUp()
          for (const end of [9, 18, lively.head.number, old.head.number]) {
            world.node.chain = old.fork(end)
            await world.catchUp()
          }
          assert.deepEqual(world.failures(), [], `seed ${seed}`)
        })
        await inTokenWorld(read, { chain: old, file }, async (world) => {
          await world.catchUp()
          assert.deepEqual(world.failures(), [], `seed ${seed}`)
        })
        assert.equal(await differenceOf(followed, read), undefined, `seed ${seed}`)
      }),
    )
  }
})
