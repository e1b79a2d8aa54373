import assert from 'node:assert/strict'
import type { Admission, Meter } from '#accounts/metering/meter/meter.ts'
import {
  assertSound,
  count,
  fund,
  keyed,
  MIGRATIONS,
  many,
  meterOf,
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
