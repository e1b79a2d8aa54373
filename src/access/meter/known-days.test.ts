import assert from 'node:assert/strict'
import { eachEngine } from '#ledger/each-engine.ts'
import { startOfDay } from '#lib/day.ts'
import { ConstraintError, type Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { takeKnownUnits } from './known-days.ts'
import {
  anonymous,
  assertSound,
  count,
  fund,
  keyed,
  MIGRATIONS,
  meterOf,
  NOON,
} from './meter-harness.ts'
import type { UsageDay } from './usage-day.ts'

const onBoth = eachEngine(startPostgres, MIGRATIONS)

const DAY = startOfDay(NOON)
const QUOTA = 5

/** Counts on a bucket's day as if it stood so. */
function take(
  engine: Engine,
  stands: UsageDay,
  { units, paid }: { readonly units: number; readonly paid: number },
) {
  const wanted = new Map([['b', { units, paid, quota: QUOTA }]])
  return engine.write((tx) => takeKnownUnits(tx, { day: DAY, wanted, known: () => stands }))
}

function day(engine: Engine) {
  return engine.read(sql`select used, paid, quota, quota_most from usage_days where bucket = 'b'`)
}

async function hasDay(engine: Engine, { used, paid }: UsageDay): Promise<void> {
  await engine.write((tx) =>
    tx.run(sql`
      insert into usage_days (bucket, day, used, paid, granted, quota, quota_most)
      values ('b', ${DAY}, ${used}, ${paid}, 0, ${QUOTA}, ${QUOTA})`),
  )
}

onBoth(
  'a day that stands as it is known is counted on, without being asked',
  async ({ engine }) => {
    await hasDay(engine, { used: 3, paid: 0 })
    const free = await take(engine, { used: 3, paid: 0 }, { units: 2, paid: 0 })
    assert.deepEqual(free.taken.get('b'), { used: 5, paid: 0, granted: 2, presumed: 0 })
    const paid = await take(engine, { used: 5, paid: 0 }, { units: 0, paid: 3 })
    assert.deepEqual(paid.taken.get('b'), { used: 5, paid: 3, granted: 0, presumed: 3 })
    assert.deepEqual(await day(engine), [{ used: 5, paid: 3, quota: 5, quota_most: 5 }])
  },
)

onBoth(
  'a day that stands otherwise in any count is refused and left as it is',
  async ({ engine }) => {
    await hasDay(engine, { used: 3, paid: 1 })
    for (const known of [
      { used: 2, paid: 1 },
      { used: 4, paid: 1 },
      { used: 3, paid: 0 },
      { used: 2, paid: 2 },
      { used: 0, paid: 0 },
    ])
      await assert.rejects(take(engine, known, { units: 1, paid: 0 }), ConstraintError)
    for (const known of [
      { used: 5, paid: 1 },
      { used: 5, paid: 0 },
    ])
      await assert.rejects(take(engine, known, { units: 0, paid: 1 }), ConstraintError)
    assert.deepEqual(await day(engine), [{ used: 3, paid: 1, quota: 5, quota_most: 5 }])
  },
)

onBoth(
  'days that are unknown, or whose units do not suffice, are left to ask',
  async ({ engine }) => {
    await hasDay(engine, { used: 4, paid: 0 })
    const short = await take(engine, { used: 4, paid: 0 }, { units: 2, paid: 0 })
    assert.deepEqual([...short.rest.keys()], ['b'])
    const free = await take(engine, { used: 4, paid: 0 }, { units: 0, paid: 1 })
    assert.deepEqual([...free.rest.keys()], ['b'])
    const wanted = new Map([['c', { units: 1, paid: 0, quota: QUOTA }]])
    const other = await engine.write((tx) =>
      takeKnownUnits(tx, { day: DAY, wanted, known: () => undefined }),
    )
    assert.deepEqual([...other.rest.keys()], ['c'])
  },
)

onBoth('what another process counted or gave back is in the next figures', async (store) => {
  const caller = anonymous('192.0.2.1', 40)
  const [one, two] = [meterOf(store.engine), meterOf(store.replica())]
  const first = await one.admit(caller)
  assert.equal(first.kind, 'admitted')
  for (let call = 2; call <= 12; call += 1) {
    const admission = await (call % 3 === 0 ? two : one).admit(caller)
    assert.equal(admission.figures.requestCount, call)
    assert.equal(admission.figures.remaining, 40 - call)
  }
  await two.refund(first.receipt)
  const admissions = await Promise.all(
    Array.from({ length: 60 }, (_, index) => (index % 2 === 0 ? one : two).admit(caller)),
  )
  assert.equal(count(admissions, 'quota'), 29)
  assert.equal(count(admissions, 'exhausted'), 31)
  await assertSound(store.engine)
})

onBoth('free and paid calls of one batch are counted each in its own way', async (store) => {
  const meter = meterOf(store.engine)
  const payer = keyed('00000001')
  const free = anonymous('192.0.2.2', 100)
  await fund(store.engine, payer, 10_000n)
  for (let call = 0; call < 7; call += 1) await meter.admit(payer)
  await meter.admit(free)
  const callers = [payer, free, anonymous('192.0.2.3', 2)]
  const admissions = await Promise.all(
    Array.from({ length: 12 }, (_, index) => meter.admit(callers[index % 3] ?? free)),
  )
  assert.deepEqual(
    [count(admissions, 'prepaid'), count(admissions, 'quota'), count(admissions, 'exhausted')],
    [4, 6, 2],
  )
  assert.deepEqual(
    admissions.filter((_, index) => index % 3 === 0).map(({ figures }) => figures.overageCount),
    [3, 4, 5, 6],
  )
  assert.equal((await meter.figures(free)).requestCount, 5)
  await assertSound(store.engine)
})
