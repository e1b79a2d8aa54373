import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { toAccount } from '#accounts/metering/meter/meter.ts'
import type { Caller } from '#base/caller.ts'
import { DAY_SECONDS } from '#base/time.ts'
import type { Engine } from '#db/engine.ts'
import {
  anonymous,
  assertSound,
  fund,
  keyed,
  MIGRATIONS,
  meterOf,
  NOON,
  PRICE,
  sources,
} from '#test/callers/meter-harness.ts'
import { onSqlite } from '#test/store/each-engine.ts'

type Step =
  | { readonly do: 'calls'; readonly callers: readonly number[] }
  | { readonly do: 'fund'; readonly caller: number; readonly microUsd: bigint }
  | { readonly do: 'day' }

const CALLERS = [keyed('00000001', 3), keyed('00000002', 3), anonymous('192.0.2.1', 2)]

const steps = fc.array(
  fc.oneof(
    fc.record({
      do: fc.constant('calls' as const),
      callers: fc.array(fc.nat(CALLERS.length - 1), { minLength: 1, maxLength: 8 }),
    }),
    fc.record({
      do: fc.constant('fund' as const),
      caller: fc.nat(CALLERS.length - 1),
      microUsd: fc.bigInt({ min: 1n, max: 450n }),
    }),
    fc.record({ do: fc.constant('day' as const) }),
  ),
  { maxLength: 14 },
)

/** The meter as one would write it for one caller at a time, in memory. */
class Model {
  day = 0
  readonly used = new Map<string, number>()
  readonly paid = new Map<string, number>()
  readonly balances = new Map<string, bigint>()

  admit(caller: Caller): string {
    const bucket = `${this.day}:${caller.bucket}`
    const used = this.used.get(bucket) ?? 0
    const balance = this.balances.get(toAccount(caller)) ?? 0n
    if (used < caller.dailyQuota) {
      this.used.set(bucket, used + 1)
      return 'quota'
    }
    if (balance < PRICE) return 'exhausted'
    this.balances.set(toAccount(caller), balance - PRICE)
    this.paid.set(bucket, (this.paid.get(bucket) ?? 0) + 1)
    return 'prepaid'
  }
}

async function runAgainstModel(engine: Engine, list: readonly Step[]): Promise<void> {
  const model = new Model()
  const now = { value: NOON }
  const meter = meterOf(engine, now)
  for (const step of list) {
    if (step.do === 'day') {
      model.day += 1
      now.value += DAY_SECONDS
    } else if (step.do === 'fund') {
      const caller = CALLERS[step.caller] ?? keyed('00000001')
      await fund(engine, caller, step.microUsd)
      const account = toAccount(caller)
      model.balances.set(account, (model.balances.get(account) ?? 0n) + step.microUsd)
    } else {
      const callers = step.callers.map((index) => CALLERS[index] ?? keyed('00000001'))
      const admissions = await Promise.all(callers.map((caller) => meter.admit(caller)))
      assert.deepEqual(
        sources(admissions),
        callers.map((caller) => model.admit(caller)),
      )
    }
  }
  for (const caller of CALLERS) {
    const bucket = `${model.day}:${caller.bucket}`
    const rateLimit = await meter.rateLimit(caller)
    const paid = model.paid.get(bucket) ?? 0
    assert.equal(rateLimit.overageCount, paid)
    assert.equal(rateLimit.requestCount, (model.used.get(bucket) ?? 0) + paid)
    assert.equal(rateLimit.prepaidBalance, model.balances.get(toAccount(caller)) ?? 0n)
  }
  await assertSound(engine)
}

test('ledger and meter agree with a simple model, whatever happens in whatever order', async () => {
  const property = fc.asyncProperty(steps, (list) =>
    onSqlite(MIGRATIONS, ({ engine }) => runAgainstModel(engine, list)),
  )
  await fc.assert(property, { numRuns: 120 })
})
