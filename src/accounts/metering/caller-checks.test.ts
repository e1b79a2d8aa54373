import assert from 'node:assert/strict'
import { callerGuards } from '#accounts/keys/caller-tables.ts'
import { DAY_SECONDS } from '#base/time.ts'
import { ConstraintError } from '#db/engine.ts'
import { type Sql, sql } from '#db/sql.ts'
import { createRetention } from '#main/jobs.ts'
import { accountsMigrations } from '#main/stores.ts'
import { assertSound, createHarness, type Harness } from '#test/callers/callers-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine, unguarded } from '#test/store/each-engine.ts'
import { callerChecks } from './caller-checks.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)

const LATER = 1_795_219_200 + 3 * DAY_SECONDS

const CORRUPTIONS: Record<string, Sql> = {
  "a wallet's count of active keys is right, and at most ten": sql`
    update wallets set active_keys = active_keys + 1`,
  'the paid calls of a day are the calls that its accounts were debited for': sql`
    update usage_days set paid = paid - 1`,
  'the free calls of a wallet are those of its keys': sql`
    update key_days set used = used + 100`,
  'a wallet has as many keys as it signed mints and rotated keys': sql`
    delete from used_messages`,
  'every key balance belongs to an existing key': sql`
    insert into balances (account, micro_usd) values ('key:ffffffff', 0)`,
  'a rotated key is revoked, and its successor is another key of its wallet': sql`
    update keys set successor = public_id where successor is not null`,
  'a revoked key has no charges on later days': sql`
    insert into key_days (public_id, day, used)
    select public_id, ${LATER}, 1 from keys where successor is not null`,
}

for (const check of callerChecks)
  onBoth(`the audit notices a broken promise: ${check.name}`, async ({ engine }) => {
    await createStore(createHarness(engine))
    await assertSound(engine)
    const tables = ['usage_days', 'used_messages', 'keys', 'wallets', 'key_days']
    await unguarded(engine, { guards: callerGuards, tables }, async (tx) => {
      await tx.run(CORRUPTIONS[check.name] ?? sql``)
    })
    assert.ok((await engine.snapshot(check.run)).length > 0)
  })

onBoth('the database itself refuses what would falsify keys and counters', async ({ engine }) => {
  await createStore(createHarness(engine))
  for (const change of [
    sql`update keys set wallet = '0x' || wallet`,
    sql`update keys set revoked_unix = ${null} where revoked_unix is not null`,
    sql`delete from keys`,
    sql`update used_messages set wallet = 'another'`,
    sql`delete from used_messages`,
    sql`update usage_days set used = used + 1000`,
    sql`update usage_days set used = 0`,
    sql`update usage_days set used = used - 1`,
  ])
    await assert.rejects(
      engine.write((tx) => tx.run(change)),
      ConstraintError,
      change.parts[0],
    )
  await assert.rejects(
    engine.write(async (tx) => {
      await tx.run(sql`insert into usage_days (day, bucket, used, paid, granted, quota, quota_most)
        values (0, '192.0.2.9', 4, 0, 4, 5, 5)`)
      await tx.run(sql`update usage_days set paid = paid + 1 where day = 0`)
    }),
    ConstraintError,
    'nobody pays while a free call is left',
  )
})

/** A wallet with a first key, a rotated and a new one, free and paid calls. */
async function createStore(harness: Harness): Promise<void> {
  const first = await harness.mint()
  const second = await harness.mint(first.wallet)
  await harness.admit(second.secret, 3)
  await harness.rotate(second)
  await harness.fund(first.publicId, 500n)
  await harness.admit(first.secret, 10)
  await harness.admit((await harness.mint()).secret, 2)
}

/** The clock agrees with the chain unless `headUnix` is given. */
function prune(harness: Harness, headUnix: number | undefined = harness.now.ms / 1000) {
  const clock = () => harness.now.ms
  return createRetention({ engine: harness.engine, clock, headUnix: async () => headUnix })()
}

onBoth('old counters are forgotten, except where calls were paid for', async ({ engine }) => {
  const harness = createHarness(engine)
  const anonymous = harness.metering.anonymous('192.0.2.1')
  await harness.metering.meter.admit(anonymous)
  await engine.write((tx) =>
    tx.run(sql`insert into usage_days (day, bucket, used, paid, granted, quota, quota_most)
      values (0, 'wallet:0x', 10, 1, 1, 10, 10), (0, '192.0.2.2', 5, 0, 1, 5, 5)`),
  )
  harness.now.ms += 30 * DAY_SECONDS * 1000
  await prune(harness)
  const kept = await engine.read(sql`select bucket from usage_days order by bucket`)
  assert.deepEqual(
    kept.map((row) => row.bucket),
    ['192.0.2.1', 'wallet:0x'],
  )
})

onBoth(
  'counters of wallets outlive those of addresses, and fall with those of their keys',
  async (store) => {
    const { engine } = store
    const harness = createHarness(engine)
    const first = await harness.mint()
    const second = await harness.mint(first.wallet)
    await harness.admit(second.secret, 3)
    const pruneLater = async (days: number) => {
      harness.now.ms += days * DAY_SECONDS * 1000
      await prune(harness)
      const [row] = await engine.read(sql`
      select (select count(*) from usage_days) as days, (select count(*) from key_days) as keys`)
      return [row?.days, row?.keys]
    }
    assert.deepEqual(await pruneLater(90), [1, 1])
    assert.deepEqual(await pruneLater(11), [0, 0])
  },
)

onBoth('a clock that is ahead gives nobody a second quota of the day', async ({ engine }) => {
  const harness = createHarness(engine)
  const anonymous = harness.metering.anonymous('192.0.2.1')
  const headUnix = harness.now.ms / 1000
  const admitted = async () => {
    const calls = Array.from({ length: 7 }, () => harness.metering.meter.admit(anonymous))
    return (await Promise.all(calls)).filter((each) => each.kind === 'admitted').length
  }
  assert.equal(await admitted(), 5)
  for (const days of [36, 101]) {
    harness.now.ms += days * DAY_SECONDS * 1000
    await prune(harness, headUnix)
    const unknown = { engine, clock: () => harness.now.ms, headUnix: async () => undefined }
    await createRetention(unknown)()
    harness.now.ms = headUnix * 1000
    assert.equal(await admitted(), 0)
  }
})
