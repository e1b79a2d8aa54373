import assert from 'node:assert/strict'
import { chainInAccount, keyAccount } from '#ledger/account.ts'
import { eachEngine, unguarded } from '#ledger/each-engine.ts'
import { post } from '#ledger/post.ts'
import { DAY_SECONDS } from '#lib/day.ts'
import { sql } from '#store/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { accessChecks } from './access-checks.ts'
import { bearer, CHAIN_ID, createHarness, HARNESS_MIGRATIONS } from './access-harness.ts'
import { accessGuards } from './access-migrations.ts'
import { pruneUsage } from './prune-usage.ts'

const onBoth = eachEngine(startPostgres, HARNESS_MIGRATIONS)

const CORRUPTIONS: Record<string, string> = {
  'a wallet has as many active keys as are counted, and at most ten':
    'update wallets set active_keys = active_keys + 1',
  'the paid calls of a day are the calls that its accounts were debited for':
    'update usage_days set paid = paid - 1',
  'every key has the shape that secrets and messages rely on': "update keys set secret_digest = ''",
}

for (const check of accessChecks)
  onBoth(`the audit notices a broken promise: ${check.name}`, async ({ engine }) => {
    const harness = createHarness(engine)
    const { publicId, secret } = await harness.mint()
    const postings = [
      { account: chainInAccount(CHAIN_ID), microUsd: -500n },
      { account: keyAccount(publicId), microUsd: 500n },
    ]
    const entry = { id: 'c', kind: 'credit' as const, reference: 'c', createdUnix: 1, postings }
    await engine.write((tx) => post(tx, entry))
    const caller = await harness.access.identify(bearer(secret).headers, '192.0.2.1')
    assert.ok(caller.kind === 'keyed')
    for (let n = 0; n < 12; n += 1) await harness.access.meter.admit(caller)
    for (const each of accessChecks) assert.deepEqual(await engine.snapshot(each.run), [])
    const statement = CORRUPTIONS[check.name] ?? ''
    await unguarded(engine, { guards: accessGuards, tables: [] }, async (tx) => {
      await tx.run({ kind: 'sql', parts: [statement], values: [] })
    })
    assert.equal((await engine.snapshot(check.run)).length, 1)
  })

onBoth('old counters are forgotten, except where calls were paid for', async ({ engine }) => {
  const harness = createHarness(engine)
  const anonymous = harness.access.anonymous('192.0.2.1')
  await harness.access.meter.admit(anonymous)
  await engine.write((tx) =>
    tx.run(sql`insert into usage_days (bucket, day, used, paid, granted, quota)
      values ('wallet:0x', ${0}, 10, 1, 1, 10), ('192.0.2.2', ${0}, 5, 0, 1, 5)`),
  )
  harness.now.ms += 30 * DAY_SECONDS * 1000
  await pruneUsage({ engine, clock: () => harness.now.ms })
  const kept = await engine.read(sql`select bucket from usage_days order by bucket`)
  assert.deepEqual(
    kept.map((row) => row.bucket),
    ['192.0.2.1', 'wallet:0x'],
  )
})
