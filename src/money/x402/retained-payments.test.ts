import assert from 'node:assert/strict'
import { DAY_SECONDS } from '#lib/time.ts'
import { accountsMigrations } from '#main/stores.ts'
import { RETAINED_PAYMENTS } from '#money/x402/settling/payment-store.ts'
import { createPruning } from '#operations/jobs/retained.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { newPayment } from '#test/x402/x402-harness.ts'
import { insertPayment, setPaymentStatus } from './settling/payment-store.ts'
import type { PaymentStatus } from './settling/x402-payment.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)
const NOW_UNIX = 1_800_000_000

async function add(
  engine: Engine,
  id: string,
  { validBefore, status = 'abandoned' }: { validBefore: bigint; status?: PaymentStatus },
): Promise<void> {
  const nonce = `0x${Buffer.from(id).toString('hex').padStart(64, '0')}` as const
  const reserved = newPayment(1)
  const authorization = { ...reserved.authorization, validBefore, nonce }
  const payment = { ...reserved, id, authorization, createdUnix: NOW_UNIX }
  await engine.write((tx) => insertPayment(tx, payment))
  if (status !== 'reserved')
    await engine.write((tx) => setPaymentStatus(tx, { id, from: 'reserved', to: status }))
}

async function left(engine: Engine): Promise<unknown[]> {
  return (await engine.read(sql`select id from x402_intents order by id`)).map((row) => row.id)
}

const prune = (engine: Engine, nowUnix: number) =>
  createPruning([RETAINED_PAYMENTS])({ engine, nowUnix })

onBoth(
  'a payment that was abandoned is forgotten a day after its authorization',
  async ({ engine }) => {
    await add(engine, 'a', { validBefore: BigInt(NOW_UNIX) })
    await add(engine, 'b', { validBefore: 999n })
    await prune(engine, NOW_UNIX + DAY_SECONDS - 1)
    assert.deepEqual(await left(engine), ['a'])
    await prune(engine, NOW_UNIX + DAY_SECONDS)
    assert.deepEqual(await left(engine), [])
  },
)

onBoth('one that is still looked at stays', async ({ engine }) => {
  await add(engine, 'a', { validBefore: 999n })
  const again = { id: 'a', from: 'abandoned', to: 'abandoned' } as const
  await engine.write((tx) => setPaymentStatus(tx, { ...again, lookUnix: NOW_UNIX }))
  await prune(engine, NOW_UNIX + 2 * DAY_SECONDS)
  assert.deepEqual(await left(engine), ['a'])
})

onBoth('one that could still be sent to the chain by anybody stays', async ({ engine }) => {
  await add(engine, 'a', { validBefore: 2n ** 256n - 1n })
  await add(engine, 'b', { validBefore: BigInt(NOW_UNIX + 3 * DAY_SECONDS) })
  await prune(engine, NOW_UNIX + 2 * DAY_SECONDS)
  assert.deepEqual(await left(engine), ['a', 'b'])
})

onBoth(
  'one that was sent, or may be, stays for ever, and the store keeps it',
  async ({ engine }) => {
    const states = ['reserved', 'submitted', 'credited', 'failed', 'claimed'] as const
    for (const status of states) await add(engine, status, { validBefore: 1_000n, status })
    await prune(engine, NOW_UNIX + 400 * DAY_SECONDS)
    assert.deepEqual(await left(engine), [...states].sort())
    for (const status of states)
      await assert.rejects(
        engine.write((tx) => tx.run(sql`delete from x402_intents where id = ${status}`)),
      )
  },
)
