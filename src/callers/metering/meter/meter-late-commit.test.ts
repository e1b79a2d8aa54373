import assert from 'node:assert/strict'
import { sleep } from '#lib/sleep.ts'
import { type Engine, StoreError } from '#store/engine.ts'
import { anonymous, MIGRATIONS, meterOf } from '#test/callers/meter-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { MeteringUnavailable } from './admission.ts'
import { endUnknownBatch, recordBatch } from './meter-statements.ts'

const onBoth = eachEngine(startPostgres, MIGRATIONS)
const onPostgres = eachEngine(startPostgres, MIGRATIONS, ['postgres'])
const caller = (bucket: string) => anonymous(bucket, 500)

/** Reports a lost connection while a transaction is done but for its commit, which comes later. */
function lateCommit(engine: Engine) {
  const next = { isLate: false }
  const free = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const late: Engine = {
    ...engine,
    async write(work) {
      if (!next.isLate) return engine.write(work)
      next.isLate = false
      const decided = Promise.withResolvers<void>()
      const real = engine.write(async (connection) => {
        const done = await work(connection)
        decided.resolve()
        await free.promise
        return done
      })
      real.then(() => ended.resolve(), ended.reject)
      await decided.promise
      throw new StoreError('the connection is lost; the server commits later')
    },
  }
  const commit = () => {
    free.resolve()
    return ended.promise
  }
  return { engine: late, next, commit }
}

/** Long enough for a question to reach the server of this machine; later is right too. */
const ASKED_MS = 300

onBoth(
  'a batch that was given up is never counted, and one that stands is undone once',
  async (store) => {
    const { engine } = store
    const batch = (number: number) => ({ id: { meter: 'one', number }, day: 0 })
    const record = (number: number) => engine.write((tx) => recordBatch(tx, batch(number)))
    const end = (number: number) => engine.write((tx) => endUnknownBatch(tx, batch(number)))
    assert.equal(await end(1), false)
    await assert.rejects(record(1), StoreError)
    await record(2)
    assert.deepEqual([await end(2), await end(2), await end(1)], [true, false, false])
    assert.equal(await end(3), false)
    await assert.rejects(record(3), StoreError)
    assert.equal(await end(3), false)
    await record(4)
  },
)

for (const isFirst of [true, false])
  onPostgres(
    `a call that is counted after its caller was refused is undone, ${isFirst ? 'the first of a process too' : 'later ones too'}`,
    async ({ engine }) => {
      const late = lateCommit(engine)
      const meter = meterOf(late.engine)
      if (!isFirst) await meter.admit(caller('before'))
      late.next.isLate = true
      await assert.rejects(meter.admit(caller('refused')), MeteringUnavailable)
      const next = meter.admit(caller('next'))
      await sleep(ASKED_MS)
      await late.commit()
      assert.equal((await next).kind, 'admitted')
      const asked = async () => (await meter.rateLimit(caller('refused'))).requestCount
      for (let n = 0; n < 100 && (await asked()) !== 0; n += 1) await sleep(50)
      assert.equal(await asked(), 0)
    },
  )
