import assert from 'node:assert/strict'
import { type Admission, admitWithin } from '#accounts/metering/meter/meter.ts'
import { isRefusal } from '#base/refusal.ts'
import {
  audited,
  bearer,
  bodyOf,
  createHarness,
  HARNESS_MIGRATIONS,
  type Harness,
  type Secret,
} from '#test/callers/callers-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { testContext } from '#test/test-context.ts'

const onBoth = audited(eachEngine(startPostgres, HARNESS_MIGRATIONS))

const FREE = 10
const DAY_MS = 86_400_000

async function limit(harness: Harness, { publicId, secret }: Secret, body: object): Promise<void> {
  const call = { path: { publicId }, method: 'POST', body, ...bearer(secret) } as const
  bodyOf(await harness.call('/api/keys/{publicId}/limits', call))
}

async function admit(harness: Harness, { secret }: Secret): Promise<Admission> {
  const caller = await harness.metering.identify(bearer(secret).headers, '192.0.2.1')
  assert.ok(!isRefusal(caller))
  return harness.metering.meter.admit(caller)
}

/** A key without free calls left and with money for many. */
async function funded(harness: Harness, body: object): Promise<Secret> {
  const key = await harness.mint()
  await harness.fund(key.publicId, 100_000n)
  await limit(harness, key, body)
  await harness.admit(key.secret, FREE)
  return key
}

const kinds = (admissions: readonly Admission[]) =>
  Object.fromEntries(
    [...Map.groupBy(admissions, ({ kind }) => kind)].map(([kind, some]) => [kind, some.length]),
  )

onBoth(
  'of 200 calls at once with one paid call left, on three replicas, one is admitted',
  async (first, store) => {
    const replicas = [first, createHarness(store.engine), createHarness(store.engine)]
    for (const each of replicas) each.now.ms = first.now.ms
    const key = await funded(first, { dailyCapUsd: 0.0004 })
    for (let call = 0; call < 3; call += 1) assert.equal((await admit(first, key)).kind, 'admitted')
    const admissions = await Promise.all(
      Array.from({ length: 200 }, (_, index) => admit(replicas[index % 3] ?? first, key)),
    )
    assert.deepEqual(kinds(admissions), { admitted: 1, limited: 199 })
  },
)

onBoth('a new day starts the cap anew', async (harness) => {
  const key = await funded(harness, { dailyCapUsd: 0.0001 })
  assert.deepEqual(kinds([await admit(harness, key), await admit(harness, key)]), {
    admitted: 1,
    limited: 1,
  })
  harness.now.ms += DAY_MS
  await harness.admit(key.secret, FREE)
  assert.equal((await admit(harness, key)).kind, 'admitted')
})

onBoth(
  'a cap that is used up comes before an empty balance, and an empty balance before a cap',
  async (harness) => {
    const poor = await harness.mint()
    await harness.fund(poor.publicId, 100n)
    await limit(harness, poor, { dailyCapUsd: 0.0005 })
    await harness.admit(poor.secret, FREE)
    assert.equal((await admit(harness, poor)).kind, 'admitted')
    assert.equal((await admit(harness, poor)).kind, 'exhausted')
    await limit(harness, poor, { dailyCapUsd: 0.00019 })
    const refused = await admit(harness, poor)
    assert.equal(refused.kind, 'limited')
    assert.deepEqual(refused.kind === 'limited' && refused.cap.microUsd, 190n)
  },
)

onBoth('a key that replaces another goes on with its cap and its count', async (harness) => {
  const key = await funded(harness, { dailyCapUsd: 0.0003 })
  await admit(harness, key)
  const second = await harness.rotate(key)
  await admit(harness, second)
  const third = await harness.rotate(second)
  assert.deepEqual(kinds([await admit(harness, third), await admit(harness, third)]), {
    admitted: 1,
    limited: 1,
  })
})

onBoth('free calls count for no cap, and a cap of zero leaves them', async (harness) => {
  const key = await harness.mint()
  await harness.fund(key.publicId, 1_000n)
  await limit(harness, key, { dailyCapUsd: 0 })
  assert.equal((await harness.admit(key.secret, FREE)).length, FREE)
  assert.equal((await admit(harness, key)).kind, 'limited')
})

onBoth(
  'a cap that is set while a payment settles holds for its call, and the credit stays',
  async (harness) => {
    const key = await harness.mint()
    await harness.admit(key.secret, FREE)
    const caller = await harness.metering.identify(bearer(key.secret).headers, '192.0.2.1')
    assert.ok(!isRefusal(caller))
    await limit(harness, key, { dailyCapUsd: 0 })
    await harness.fund(key.publicId, 100n)
    const ctx = testContext({ clock: () => harness.now.ms })
    const admission = await harness.engine.write((tx) =>
      admitWithin(ctx, tx, caller, async () => ({ key: key.publicId })),
    )
    assert.equal(admission?.kind, 'limited')
  },
)
