import assert from 'node:assert/strict'
import { moveWholeBalance } from '#accounts/keys/manage-keys.ts'
import { hash } from '#test/payments/fake-chain.ts'
import {
  ALICE_KEY,
  ALICE_KEY_2,
  alice,
  audited,
  HARNESS_MIGRATIONS,
  type Harness,
  mallory,
} from '#test/payments/payments-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { readReceivables } from './credit.ts'
import { WATCH_BLOCKS } from './verifier.ts'

const withPayments = audited(eachEngine(startPostgres, HARNESS_MIGRATIONS))

const move = (harness: Harness, from: string, to: string) =>
  harness.engine.write((tx) => moveWholeBalance(tx, { id: `${from} ${to}`, from, to, nowUnix: 1 }))

const balances = async (harness: Harness) => [
  await harness.balance(ALICE_KEY),
  await harness.balance(ALICE_KEY_2),
]

const debts = (harness: Harness) => harness.engine.snapshot(readReceivables)

withPayments(
  'one deposit is worth one deposit, however it is claimed and moved around a reorg',
  async (harness) => {
    await harness.claim({ key: ALICE_KEY_2, tx: 'tx', payer: mallory })
    harness.now.ms += 1_000
    await harness.claim({ tx: 'tx' })
    harness.pay('tx')
    await harness.confirm()
    await move(harness, ALICE_KEY, ALICE_KEY_2)
    harness.chain.drop(11)
    harness.chain.mine()
    await harness.pass()
    assert.deepEqual(await balances(harness), [0n, 0n])
    assert.deepEqual(await debts(harness), [])
    await harness.claim({ tx: 'tx', key: ALICE_KEY_2 })
    harness.pay('tx')
    await harness.confirm()
    await harness.pass()
    assert.deepEqual(await balances(harness), [0n, 1_000_000n])
    assert.deepEqual(await debts(harness), [])
  },
)

withPayments(
  'a claim whose deposit is found again days later and far below the head is credited again',
  async (harness) => {
    await harness.credit('tx', 1_000_000n)
    harness.chain.drop(11)
    harness.chain.mine()
    await harness.pass()
    assert.equal(await harness.balance(ALICE_KEY), 0n)
    harness.now.ms += 2 * 86_400_000
    harness.pay('tx')
    harness.chain.mineEmpty(WATCH_BLOCKS + 1)
    await harness.pass()
    assert.equal(await harness.balance(ALICE_KEY), 1_000_000n)
    assert.equal((await harness.record(hash('tx'))).status, 'verified')
  },
)

/** The transaction is mined again in another block. */
const mineAgain = async (harness: Harness, tx: string, amount = 1_000_000n) => {
  harness.chain.drop(11)
  harness.chain.mine()
  await harness.pass()
  harness.pay(tx, amount)
  await harness.confirm()
}

withPayments('a reorg leaves each key the money that was its own', async (harness) => {
  await harness.claim({ tx: 'spent' })
  await harness.claim({ tx: 'kept', key: ALICE_KEY_2 })
  harness.pay('kept', 5_000_000n)
  harness.pay('spent')
  await harness.confirm()
  await harness.spend(ALICE_KEY, 10_000)
  for (let n = 0; n < 3; n += 1) {
    await mineAgain(harness, 'spent')
    assert.deepEqual(await balances(harness), [0n, 5_000_000n])
    assert.deepEqual(await debts(harness), [])
    harness.now.ms += 1_000
  }
})

withPayments(
  'money that a reorg took returns to the newest rotation of its key',
  async (harness) => {
    const newest = 'a11ce003'
    await harness.claim({ tx: 'tx' })
    harness.pay('tx')
    await harness.confirm()
    await harness.spend(ALICE_KEY, 4_000)
    await move(harness, ALICE_KEY, ALICE_KEY_2)
    harness.chain.drop(11)
    harness.chain.mine()
    await harness.pass()
    assert.deepEqual(await debts(harness), [{ wallet: alice, microUsd: 400_000n }])
    await harness.hold(newest, { wallet: alice, revokedUnix: null })
    await harness.hold(ALICE_KEY_2, { wallet: alice, revokedUnix: 1, successor: newest })
    harness.pay('tx')
    await harness.confirm()
    assert.deepEqual(await balances(harness), [0n, 0n])
    assert.equal(await harness.balance(newest), 600_000n)
    assert.deepEqual(await debts(harness), [])
  },
)

withPayments(
  'what a wallet owes is repaid before its keys get back what a reorg took',
  async (harness) => {
    await harness.claim({ tx: 'lost' })
    await harness.claim({ tx: 'back' })
    harness.pay('lost', 300_000n)
    harness.pay('back')
    await harness.confirm()
    await harness.spend(ALICE_KEY, 9_000)
    harness.chain.drop(12)
    harness.chain.mineEmpty(12)
    await harness.pass()
    assert.deepEqual(await debts(harness), [{ wallet: alice, microUsd: 900_000n }])
    harness.pay('back')
    await harness.confirm()
    assert.deepEqual(await balances(harness), [100_000n, 0n])
    assert.deepEqual(await debts(harness), [])
  },
)

withPayments(
  'what a wallet owes after a reorg is repaid by the next credit to any of its keys',
  async (harness) => {
    await harness.claim({ tx: 'tx' })
    harness.pay('tx', 1_000n)
    await harness.confirm()
    await move(harness, ALICE_KEY, ALICE_KEY_2)
    await harness.spend(ALICE_KEY_2, 4)
    harness.chain.drop(11)
    harness.chain.mineEmpty(12)
    await harness.pass()
    assert.deepEqual(await balances(harness), [0n, 0n])
    assert.deepEqual(await debts(harness), [{ wallet: alice, microUsd: 400n }])
    await harness.claim({ tx: 'next', key: ALICE_KEY_2 })
    harness.pay('next', 1_000n)
    await harness.confirm()
    assert.deepEqual(await balances(harness), [0n, 600n])
    assert.deepEqual(await debts(harness), [])
  },
)

withPayments(
  'a transaction that is mined again is credited to the claim that held its money before',
  async (harness) => {
    harness.pay('tx')
    await harness.claim({ tx: 'tx' })
    await harness.confirm()
    harness.chain.drop(11)
    harness.chain.mine()
    await harness.pass()
    await harness.claim({ key: ALICE_KEY_2, tx: 'tx', as: ALICE_KEY_2 })
    harness.pay('tx')
    harness.chain.mineEmpty(3)
    await harness.pass()
    await harness.confirm()
    assert.deepEqual(await balances(harness), [1_000_000n, 0n])
    assert.equal((await harness.record(hash('tx'))).status, 'verified')
  },
)

withPayments(
  'money that was under way to a key is credited to the newest of its rotations',
  async (harness) => {
    const newest = 'a11ce003'
    await harness.claim({ tx: 'tx' })
    await harness.hold(newest, { wallet: alice, revokedUnix: null })
    await harness.hold(ALICE_KEY_2, { wallet: alice, revokedUnix: 1, successor: newest })
    await harness.hold(ALICE_KEY, { wallet: alice, revokedUnix: 1, successor: ALICE_KEY_2 })
    harness.pay('tx')
    await harness.confirm()
    assert.deepEqual(await balances(harness), [0n, 0n])
    assert.equal(await harness.balance(newest), 1_000_000n)
  },
)
