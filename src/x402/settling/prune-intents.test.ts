import assert from 'node:assert/strict'
import { accessMigrations } from '#access/access-migrations.ts'
import { eachEngine } from '#ledger/each-engine.ts'
import { ledgerMigrations } from '#ledger/ledger-migrations.ts'
import { DAY_SECONDS } from '#lib/day.ts'
import { paymentsMigrations } from '#payments/payments-migrations.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { x402Migrations } from '../x402-migrations.ts'
import type { Intent, IntentStatus } from './intent.ts'
import { insertIntent, setIntentStatus } from './intent-store.ts'
import { pruneIntents } from './prune-intents.ts'

const migrations = [
  ...ledgerMigrations,
  ...accessMigrations,
  ...paymentsMigrations,
  ...x402Migrations,
]
const onBoth = eachEngine(startPostgres, migrations)
const NOW_UNIX = 1_800_000_000

async function add(
  engine: Engine,
  id: string,
  { validBefore, status = 'abandoned' }: { validBefore: bigint; status?: IntentStatus },
): Promise<void> {
  const intent: Intent = {
    id,
    chainId: 8453,
    asset: `0x${'aa'.repeat(20)}`,
    authorization: {
      from: `0x${'cc'.repeat(20)}`,
      to: `0x${'bb'.repeat(20)}`,
      value: 100_000n,
      validAfter: 0n,
      validBefore,
      nonce: `0x${Buffer.from(id).toString('hex').padStart(64, '0')}`,
    },
    signature: `0x${'22'.repeat(65)}`,
    payee: { kind: 'bucket', bucket: '192.0.2.1' },
    status: 'reserved',
    createdUnix: NOW_UNIX,
    fromBlock: 0,
    txHash: null,
    raw: null,
    ownHash: null,
    settler: null,
    txNonce: null,
    reservedGwei: 0n,
    gasDay: 0,
  }
  await engine.write((tx) => insertIntent(tx, intent))
  if (status !== 'reserved')
    await engine.write((tx) => setIntentStatus(tx, { id, from: 'reserved', to: status }))
}

async function left(engine: Engine): Promise<unknown[]> {
  return (await engine.read(sql`select id from x402_intents order by id`)).map((row) => row.id)
}

const prune = (engine: Engine, nowUnix: number) =>
  pruneIntents({ engine, clock: () => nowUnix * 1000 })

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
  await engine.write((tx) => setIntentStatus(tx, { ...again, lookUnix: NOW_UNIX }))
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
