import assert from 'node:assert/strict'
import type { Address, Hash } from '#domain/address.ts'
import { bucketAccount, payerAccount, receivableAccount } from '#ledger/account.ts'
import { readBalances } from '#ledger/balance.ts'
import { ledgerChecks } from '#ledger/ledger-checks.ts'
import { spendCalls } from '#ledger/spend.ts'
import { startOfDay } from '#lib/time.ts'
import { accountsMigrations } from '#main/stores.ts'
import { creditDeposit, liveCreditsOf, reverseCredit } from '#money/payments/credit.ts'
import type { Engine } from '#store/engine.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { x402Checks } from '../x402-checks.ts'
import { brokenPromises, depositOf, word } from '../x402-harness.ts'
import { shareOf } from './bucket-shares.ts'
import { accountsToCollect, collectCredits } from './collect-credits.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)

const ANN: Address = `0x${'aa'.repeat(20)}`
const BOB: Address = `0x${'bb'.repeat(20)}`
const CAT: Address = `0x${'cc'.repeat(20)}`
const HOME = bucketAccount('192.0.2.1')
const WORK = bucketAccount('192.0.2.2')

const OWN_SHARE = 'a reorg takes no more from a shared address than was left of the payment itself'

/** Checks payments alone: these credits have no x402 payment. */
const CHECKS = [...ledgerChecks, ...x402Checks.filter((check) => check.name === OWN_SHARE)]

interface Payment {
  readonly owner: Address
  readonly account: string
  readonly amount: bigint
  readonly again?: Hash | undefined
}

/** Payments and calls one after another, each a second later. */
function lifeOf(engine: Engine) {
  let nowUnix = 1_800_000_000
  const next = () => {
    nowUnix += 1
    return nowUnix
  }
  const creditOf = ({ owner, account, amount, again }: Payment) => {
    const n = next()
    const txHash = again ?? word(n)
    const deposit = { ...depositOf({ from: owner, to: BOB, value: amount }, n), txHash }
    return { id: `credit-${n}`, deposit, account, owner, claimId: null, nowUnix: n }
  }
  return {
    /** `again` is a transaction that a reorg took and that is mined in another block. */
    async pay(owner: Address, account: string, amount: bigint, again?: Hash): Promise<Hash> {
      const input = creditOf({ owner, account, amount, again })
      assert.ok(await engine.write((connection) => creditDeposit(connection, input)))
      return input.deposit.txHash
    },
    /** Many payments in one transaction. */
    async payOften(owner: Address, account: string, amount: bigint, times: number): Promise<void> {
      await engine.write(async (connection) => {
        for (let n = 0; n < times; n += 1)
          assert.ok(await creditDeposit(connection, creditOf({ owner, account, amount })))
      })
    },
    async spend(account: string, microUsd: bigint): Promise<void> {
      const calls = new Map([[account, Number(microUsd)]])
      await engine.write((connection) =>
        spendCalls(connection, { calls, pricePerCall: 1n, day: startOfDay(next()) }),
      )
    },
    collect: (wallet: Address) =>
      engine.write((connection) =>
        collectCredits(connection, { newId: () => `n${next()}` }, { wallet, nowUnix: next() }),
      ),
    async reorg(txHash: Hash): Promise<void> {
      await engine.write(async (connection) => {
        for (const credit of await liveCreditsOf(connection, [txHash]))
          await reverseCredit(connection, { credit, shareOf, nowUnix: next() })
      })
    },
    audit: () => brokenPromises(engine, CHECKS),
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

onBoth(
  'a reorg of a payment that was collected takes nothing that others paid at its address',
  async ({ engine }) => {
    const life = lifeOf(engine)
    const lost = await life.pay(ANN, HOME, 100n)
    await life.collect(ANN)
    await life.spend(payerAccount(ANN), 30n)
    await life.pay(BOB, HOME, 100n)
    await life.reorg(lost)
    assert.equal(await life.balance(payerAccount(ANN)), 0n)
    assert.equal(await life.balance(receivableAccount(ANN)), -30n)
    assert.equal(await life.balance(HOME), 100n)
    await life.pay(ANN, HOME, 100n, lost)
    assert.equal(await life.balance(payerAccount(ANN)), 70n)
    assert.equal(await life.balance(HOME), 100n)
    await life.collect(ANN)
    await life.collect(BOB)
    assert.equal(await life.balance(payerAccount(ANN)), 70n)
    assert.equal(await life.balance(receivableAccount(ANN)), 0n)
    assert.equal(await life.balance(payerAccount(BOB)), 100n)
    assert.equal(await life.balance(HOME), 0n)
    assert.deepEqual(await life.audit(), [])
  },
)

onBoth(
  'a reorg of a payment that is spent is a debt of its payer, and no other one of the address pays it',
  async ({ engine }) => {
    const life = lifeOf(engine)
    const lost = await life.pay(ANN, HOME, 100n)
    await life.spend(HOME, 80n)
    await life.pay(BOB, HOME, 100n)
    await life.reorg(lost)
    assert.equal(await life.balance(HOME), 100n)
    assert.equal(await life.balance(receivableAccount(ANN)), -80n)
    await life.pay(ANN, HOME, 100n, lost)
    assert.equal(await life.balance(HOME), 120n)
    assert.equal(await life.balance(receivableAccount(ANN)), 0n)
    await life.collect(BOB)
    assert.equal(await life.balance(payerAccount(BOB)), 100n)
    await life.collect(ANN)
    assert.equal(await life.balance(payerAccount(ANN)), 20n)
    assert.deepEqual(await life.audit(), [])
  },
)

onBoth(
  'a reorg that comes with a collection leaves each its own, whichever is first',
  async ({ engine, replica }) => {
    const [life, other] = [lifeOf(engine), lifeOf(replica())]
    for (let round = 0; round < 10; round += 1) {
      const lost = await life.pay(ANN, HOME, 100n)
      await life.pay(BOB, HOME, 50n)
      await Promise.all([life.collect(ANN), other.reorg(lost)])
      assert.equal(await life.balance(HOME), 50n)
      assert.equal(await life.balance(payerAccount(ANN)), 0n)
      assert.equal(await life.balance(receivableAccount(ANN)), 0n)
      await life.collect(BOB)
      assert.deepEqual(await life.audit(), [])
    }
  },
)

onBoth(
  'however many have paid at an address since, wallets collect what is left of their own',
  async ({ engine }) => {
    const life = lifeOf(engine)
    await life.pay(CAT, HOME, 100n)
    await life.pay(CAT, WORK, 100n)
    await life.pay(ANN, HOME, 100n)
    await life.spend(HOME, 100n)
    // More than are read at a time.
    await life.payOften(BOB, HOME, 1n, 600)
    await life.collect(ANN)
    assert.equal(await life.balance(payerAccount(ANN)), 100n)
    assert.equal(await life.balance(HOME), 600n)
    await life.collect(CAT)
    assert.equal(await life.balance(payerAccount(CAT)), 100n)
    assert.equal(await life.balance(HOME), 600n)
    assert.deepEqual(await accountsToCollect({ run: engine.read }, CAT), [])
  },
)
