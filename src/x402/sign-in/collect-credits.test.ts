import assert from 'node:assert/strict'
import { accessMigrations } from '#access/access-migrations.ts'
import type { Address, Hash } from '#domain/address.ts'
import { bucketAccount, payerAccount, REVENUE } from '#ledger/account.ts'
import { readBalances } from '#ledger/balance.ts'
import { eachEngine } from '#ledger/each-engine.ts'
import { ledgerMigrations } from '#ledger/ledger-migrations.ts'
import { post } from '#ledger/post.ts'
import { creditDeposit, liveCreditsOf, reverseCredit } from '#payments/credit.ts'
import { paymentsMigrations } from '#payments/payments-migrations.ts'
import type { Engine } from '#store/engine.ts'
import { startPostgres } from '#test/postgres.ts'
import { x402Migrations } from '../x402-migrations.ts'
import { accountsToCollect, collectCredits } from './collect-credits.ts'

const migrations = [
  ...ledgerMigrations,
  ...accessMigrations,
  ...paymentsMigrations,
  ...x402Migrations,
]
const onBoth = eachEngine(startPostgres, migrations)

const ANN: Address = `0x${'aa'.repeat(20)}`
const BOB: Address = `0x${'bb'.repeat(20)}`
const HOME = bucketAccount('192.0.2.1')
const WORK = bucketAccount('192.0.2.2')
const word = (n: number): Hash => `0x${n.toString(16).padStart(64, '0')}`
const keys = { lockHeir: async (_: unknown, id: string) => id, keysOf: async () => [] }

/** Payments and calls one after another, each a second later. */
function lifeOf(engine: Engine) {
  let nowUnix = 1_800_000_000
  const next = () => {
    nowUnix += 1
    return nowUnix
  }
  return {
    async pay(owner: Address, account: string, amount: bigint): Promise<Hash> {
      const n = next()
      const deposit = {
        chainId: 8453,
        blockNumber: n,
        blockHash: word(n),
        timestampUnix: n,
        txHash: word(n),
        logIndex: 0,
        positionInTx: 0,
        from: owner,
        to: BOB,
        amount,
      }
      const input = { id: `credit-${n}`, deposit, account, owner, claimId: null, keys, nowUnix: n }
      assert.ok(await engine.write((connection) => creditDeposit(connection, input)))
      return deposit.txHash
    },
    async spend(account: string, microUsd: bigint): Promise<void> {
      const n = next()
      const postings = [
        { account, microUsd: -microUsd },
        { account: REVENUE, microUsd },
      ]
      const entry = { id: `calls-${n}`, kind: 'calls', reference: 'x', createdUnix: n, postings }
      const outcome = await engine.write((connection) =>
        post(connection, { ...entry, kind: 'calls' }),
      )
      assert.equal(outcome, 'created')
    },
    collect: (wallet: Address) =>
      engine.write((connection) =>
        collectCredits(connection, { newId: () => `n${next()}` }, { wallet, nowUnix: next() }),
      ),
    async reorg(txHash: Hash): Promise<void> {
      await engine.write(async (connection) => {
        for (const credit of await liveCreditsOf(connection, [txHash]))
          await reverseCredit(connection, { credit, keys, nowUnix: next() })
      })
    },
    async balance(account: string): Promise<bigint> {
      return (await engine.snapshot((reads) => readBalances(reads, [account]))).get(account) ?? 0n
    },
  }
}

onBoth(
  'a wallet collects what is left of its payments on every address, once',
  async ({ engine }) => {
    const life = lifeOf(engine)
    await life.pay(ANN, HOME, 100n)
    await life.pay(ANN, WORK, 50n)
    await life.spend(HOME, 30n)
    await life.collect(ANN)
    assert.equal(await life.balance(payerAccount(ANN)), 120n)
    assert.equal(await life.balance(HOME), 0n)
    assert.equal(await life.balance(WORK), 0n)
    await life.collect(ANN)
    assert.equal(await life.balance(payerAccount(ANN)), 120n)
    assert.deepEqual(await accountsToCollect({ run: engine.read }, ANN), [])
  },
)

onBoth('a wallet takes nothing that another one has paid at its address', async ({ engine }) => {
  const life = lifeOf(engine)
  await life.pay(ANN, HOME, 100n)
  await life.pay(BOB, HOME, 100n)
  await life.spend(HOME, 70n)
  await life.collect(BOB)
  assert.equal(await life.balance(payerAccount(BOB)), 100n)
  await life.collect(ANN)
  assert.equal(await life.balance(payerAccount(ANN)), 30n)
  await life.pay(ANN, HOME, 40n)
  await life.spend(HOME, 40n)
  await life.pay(BOB, HOME, 40n)
  await life.collect(ANN)
  assert.equal(await life.balance(payerAccount(ANN)), 30n)
  assert.equal(await life.balance(HOME), 40n)
})

onBoth('of many who collect at once each has its own', async ({ engine }) => {
  const life = lifeOf(engine)
  await life.pay(ANN, HOME, 100n)
  await life.pay(BOB, HOME, 60n)
  await Promise.all([ANN, BOB, ANN, BOB, ANN].map((wallet) => life.collect(wallet)))
  assert.equal(await life.balance(payerAccount(ANN)), 100n)
  assert.equal(await life.balance(payerAccount(BOB)), 60n)
})

onBoth('a reorg takes a payment back from the wallet that collected it', async ({ engine }) => {
  const life = lifeOf(engine)
  const lost = await life.pay(ANN, HOME, 100n)
  await life.pay(ANN, HOME, 20n)
  await life.collect(ANN)
  await life.reorg(lost)
  assert.equal(await life.balance(payerAccount(ANN)), 20n)
  assert.equal(await life.balance(HOME), 0n)
})
