import assert from 'node:assert/strict'
import type { Admission, Meter } from '#accounts/metering/meter/meter.ts'
import type { Caller } from '#base/caller.ts'
import type { Engine } from '#db/engine.ts'
import {
  anonymous,
  assertSound,
  count,
  fund,
  keyed,
  MIGRATIONS,
  many,
  meterOf,
  sources,
} from '#test/callers/meter-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'

const onBoth = eachEngine(startPostgres, MIGRATIONS)

const KEY = keyed('00000001')

/** Uses up the five free units, then pays for some calls. */
async function payFor(meter: Meter, calls: number, caller = KEY): Promise<readonly Admission[]> {
  const admissions: Admission[] = []
  for (let call = 0; call < 5 + calls; call += 1) admissions.push(await meter.admit(caller))
  assert.equal(count(admissions, 'prepaid'), calls)
  return admissions
}

onBoth('paid calls and states of one batch agree', async ({ engine }) => {
  const meter = meterOf(engine)
  await fund(engine, KEY, 1_000n)
  await payFor(meter, 2)
  const [rateLimit, ...admissions] = await Promise.all([
    meter.rateLimit(KEY),
    meter.admit(KEY),
    meter.admit(KEY),
    meter.admit(KEY),
  ])
  const told = admissions.map(({ rateLimit: each }) => [each.requestCount, each.overageCount])
  assert.deepEqual(told.toSorted(), [
    [10, 5],
    [8, 3],
    [9, 4],
  ])
  const later = await meter.rateLimit(KEY)
  assert.deepEqual([later.requestCount, later.overageCount], [10, 5])
  assert.ok(rateLimit.requestCount >= 7 && rateLimit.requestCount <= 10)
  for (const { prepaidBalance, overageCount } of [rateLimit, later])
    assert.equal(prepaidBalance, 1_000n - 100n * BigInt(overageCount))
  await assertSound(engine)
})

onBoth(
  'a batch is at most three statements where nothing is paid, six where something is',
  async ({ engine }) => {
    const seen = { statements: 0 }
    const meter = meterOf(counted(engine, seen))
    const apart = countedApart('00000001')
    const poor = anonymous('192.0.2.1', 1)
    await fund(engine, KEY, 1_000n)
    const batch = async () => {
      seen.statements = 0
      await Promise.all([meter.admit(apart), meter.admit(poor)])
      return seen.statements
    }
    assert.equal(await batch(), 2)
    assert.equal(await batch(), 3)
    await many(
      3,
      () => meter,
      () => KEY,
    )
    seen.statements = 0
    await Promise.all([
      ...[KEY, KEY, poor].map((each) => meter.admit(each)),
      meter.admit(countedApart('second', 'bb')),
    ])
    assert.equal(seen.statements, 6)
    await assertSound(engine)
  },
)

function countedApart(publicId: string, wallet?: string): Caller {
  const caller = keyed(publicId, 5, wallet)
  return caller.kind === 'keyed' ? { ...caller, hasOwnCounter: true } : caller
}

/** The same engine, counting the statements of its transactions. */
function counted(engine: Engine, seen: { statements: number }): Engine {
  return {
    ...engine,
    write: (work) =>
      engine.write((connection) =>
        work({
          run(statement) {
            seen.statements += 1
            return connection.run(statement)
          },
          insert(into, rows) {
            seen.statements += 1
            return connection.insert(into, rows)
          },
        }),
      ),
  }
}

onBoth('who paid a moment ago takes the free units of a higher tier', async ({ engine }) => {
  const meter = meterOf(engine)
  await fund(engine, KEY, 1_000n)
  await payFor(meter, 2)
  const premium = keyed('00000001', 7)
  const admissions = await many(
    3,
    () => meter,
    () => premium,
  )
  assert.deepEqual(sources(admissions), ['quota', 'quota', 'prepaid'])
  const fallen = await many(
    2,
    () => meter,
    () => KEY,
  )
  assert.deepEqual(sources(fallen), ['prepaid', 'prepaid'])
  assert.equal((await meter.rateLimit(KEY)).prepaidBalance, 500n)
  await assertSound(engine)
})

onBoth('two replicas debit a caller for no more than the money it has', async (store) => {
  const meters = [meterOf(store.engine), meterOf(store.replica())] as const
  await fund(store.engine, KEY, 1_450n)
  await payFor(meters[0], 2)
  assert.equal((await meters[1].admit(KEY)).kind, 'admitted')
  const admissions = await many(
    120,
    (index) => meters[index % 2] ?? meters[0],
    () => KEY,
  )
  assert.equal(count(admissions, 'prepaid'), 11)
  assert.equal(count(admissions, 'exhausted'), 109)
  const rateLimit = await meters[0].rateLimit(KEY)
  assert.deepEqual([rateLimit.requestCount, rateLimit.overageCount], [19, 14])
  assert.equal(rateLimit.prepaidBalance, 50n)
  await assertSound(store.engine)
})

onBoth('one short balance takes nothing from others of its batch', async ({ engine }) => {
  const meter = meterOf(engine)
  const rich = keyed('00000002', 5, 'bb')
  const poor = keyed('00000003', 5, 'bb')
  await fund(engine, KEY, 300n)
  await fund(engine, rich, 10_000n)
  await payFor(meter, 1)
  await payFor(meter, 1, rich)
  const callers = [KEY, rich, poor, anonymous('192.0.2.1')]
  const admissions = await many(
    16,
    () => meter,
    (index) => callers[index % 4] ?? KEY,
  )
  const of = (at: number) => sources(admissions.filter((_, index) => index % 4 === at))
  assert.deepEqual(of(0), ['prepaid', 'prepaid', 'exhausted', 'exhausted'])
  assert.deepEqual(of(1), ['prepaid', 'prepaid', 'prepaid', 'prepaid'])
  assert.deepEqual(of(2), ['exhausted', 'exhausted', 'exhausted', 'exhausted'])
  assert.deepEqual(of(3), ['quota', 'quota', 'quota', 'quota'])
  const paid = admissions.filter((_, index) => index % 4 === 1)
  assert.deepEqual(
    paid.map(({ rateLimit }) => rateLimit.overageCount),
    [2, 3, 4, 5],
  )
  await assertSound(engine)
})
