import assert from 'node:assert/strict'
import { eachEngine } from '#ledger/each-engine.ts'
import { ConstraintError, type Engine, StoreError } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { createMeter } from './meter.ts'
import { anonymous, MIGRATIONS, NOON, PRICE } from './meter-harness.ts'

const onBoth = eachEngine(startPostgres, MIGRATIONS)

/** Loses the answer of the first write, and then lets nothing be written until it is told to. */
function losesAnAnswer(engine: Engine) {
  let isLost = false
  const free = Promise.withResolvers<void>()
  const lossy: Engine = {
    ...engine,
    async write(work) {
      if (isLost) {
        await free.promise
        return engine.write(work)
      }
      isLost = true
      await engine.write(work)
      throw new StoreError('the answer is lost')
    },
  }
  return { lossy, goOn: () => free.resolve() }
}

onBoth('an unresolved call that can never be refunded is reported', async ({ engine }) => {
  const { lossy, goOn } = losesAnAnswer(engine)
  const told = Promise.withResolvers<unknown>()
  const meter = createMeter({
    engine: lossy,
    clock: () => NOON * 1000,
    pricePerCall: PRICE,
    name: 'one',
    report: told.resolve,
  })
  await assert.rejects(meter.admit(anonymous('192.0.2.1')))
  await engine.write((tx) =>
    tx.run(sql`update usage_days set used = 0, returned = returned + used`),
  )
  goOn()
  const error = await told.promise
  assert.ok(error instanceof Error && error.cause instanceof ConstraintError)
  assert.equal(error.message, 'a call can never be refunded: one:1:1')
})
