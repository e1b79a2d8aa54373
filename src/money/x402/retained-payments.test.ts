import assert from 'node:assert/strict'
import { DAY_SECONDS } from '#lib/time.ts'
import { accountsMigrations } from '#main/stores.ts'
import { createPruning } from '#operations/jobs/retained.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { newPayment, word } from '#test/x402/x402-harness.ts'
import { endPayment, failPayment, insertPayment, RETAINED_PAYMENTS } from './payment.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)
const NOW_UNIX = 1_800_000_000

async function add(engine: Engine, id: string, validBefore: bigint): Promise<void> {
  const nonce = `0x${Buffer.from(id).toString('hex').padStart(64, '0')}` as const
  const payment = newPayment(1)
  const authorization = { ...payment.authorization, validBefore, nonce }
  const added = { ...payment, id, authorization, createdUnix: NOW_UNIX }
  await engine.write((tx) => insertPayment(tx, added))
}

async function addFailed(engine: Engine, id: string, validBefore: bigint): Promise<void> {
  await add(engine, id, validBefore)
  const failed = { id, reason: 'insufficient_funds', dueUnix: null }
  await engine.write((tx) => failPayment(tx, failed))
}

async function left(engine: Engine): Promise<unknown[]> {
  return (await engine.read(sql`select id from x402_intents order by id`)).map((row) => row.id)
}

const prune = (engine: Engine, nowUnix: number) =>
  createPruning([RETAINED_PAYMENTS])({ engine, nowUnix })

onBoth('a payment that moved nothing is deleted a day after its authorization', async (store) => {
  const { engine } = store
  await addFailed(engine, 'a', BigInt(NOW_UNIX))
  await addFailed(engine, 'b', 999n)
  await prune(engine, NOW_UNIX + DAY_SECONDS - 1)
  assert.deepEqual(await left(engine), ['a'])
  await prune(engine, NOW_UNIX + DAY_SECONDS)
  assert.deepEqual(await left(engine), [])
})

onBoth('one that could still be sent to the chain by anybody stays', async ({ engine }) => {
  await addFailed(engine, 'a', 2n ** 256n - 1n)
  await addFailed(engine, 'b', BigInt(NOW_UNIX + 3 * DAY_SECONDS))
  await prune(engine, NOW_UNIX + 2 * DAY_SECONDS)
  assert.deepEqual(await left(engine), ['a', 'b'])
})

onBoth(
  'one that is open, still due or has a transaction stays, and the store keeps it',
  async (store) => {
    const { engine } = store
    for (const id of ['claimed', 'due', 'open']) await add(engine, id, 1_000n)
    const claimed = { id: 'claimed', txHash: word(1), creditId: null, isServed: false }
    await engine.write((tx) => endPayment(tx, claimed))
    const due = { id: 'due', reason: 'insufficient_funds', dueUnix: NOW_UNIX }
    await engine.write((tx) => failPayment(tx, due))
    await prune(engine, NOW_UNIX + 400 * DAY_SECONDS)
    assert.deepEqual(await left(engine), ['claimed', 'due', 'open'])
    for (const id of await left(engine))
      await assert.rejects(
        engine.write((tx) => tx.run(sql`delete from x402_intents where id = ${String(id)}`)),
      )
  },
)
