import assert from 'node:assert/strict'
import { MeteringUnavailable } from '#accounts/metering/meter/meter.ts'
import { type Engine, StoreError } from '#db/engine.ts'
import { assertSound } from '#test/callers/callers-harness.ts'
import { anonymous, fund, MIGRATIONS, meterOf, PRICE } from '#test/callers/meter-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'

const CALLER = anonymous('192.0.2.1', 3)

const onBoth = eachEngine(startPostgres, MIGRATIONS)

type Fault = 'none' | 'before' | 'after'

/** A store whose connection breaks before a transaction starts, or when its commit is done. */
function breakable(engine: Engine) {
  const fault: { next: Fault } = { next: 'none' }
  const broken: Engine = {
    ...engine,
    async write(work) {
      const now = fault.next
      if (now === 'before') throw new StoreError('the connection is lost')
      const done = await engine.write(work)
      if (now === 'after') throw new StoreError('the connection is lost at the commit')
      return done
    },
  }
  return { engine: broken, fault }
}

for (const [fault, cost, calls] of [
  ['before', 'costs nothing if nothing was committed', 5],
  ['after', 'stays charged if its commit stood', 6],
] as const)
  onBoth(`a call that is refused because the store broke ${cost}`, async ({ engine }) => {
    const store = breakable(engine)
    await fund(engine, CALLER, 1_000n)
    const meter = meterOf(store.engine)
    for (let n = 0; n < 3; n += 1) await meter.admit(CALLER)
    store.fault.next = fault
    await assert.rejects(meter.admit(CALLER), MeteringUnavailable)
    store.fault.next = 'none'
    assert.equal((await meterOf(engine).admit(CALLER)).kind, 'admitted')
    assert.equal((await meter.admit(CALLER)).kind, 'admitted')
    const { requestCount, overageCount, prepaidBalance } = await meter.rateLimit(CALLER)
    assert.deepEqual([requestCount, overageCount], [calls, calls - 3])
    assert.equal(prepaidBalance, 1_000n - PRICE * BigInt(overageCount))
    await assertSound(engine)
  })
