import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Caller } from '#domain/caller.ts'
import { ledgerMigrations } from '#ledger/ledger-migrations.ts'
import { sleep } from '#lib/sleep.ts'
import { type Engine, StoreError } from '#store/engine.ts'
import { openPostgres } from '#store/postgres/open-postgres.ts'
import { startPostgres, type TestPostgres } from '#test/postgres.ts'
import { accessMigrations } from '../access-migrations.ts'
import { MeteringUnavailable } from './admission.ts'
import { createMeter } from './meter.ts'

const caller = (bucket: string): Caller => ({
  kind: 'anonymous',
  identity: `ip:${bucket}`,
  bucket,
  tier: 'anonymous',
  dailyQuota: 500,
})

let server: TestPostgres
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

/** Reports a lost connection while a transaction is done but for its commit, which comes later. */
function lateCommit(engine: Engine) {
  const next = { isLate: false }
  const free = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const late: Engine = {
    ...engine,
    async writeOnce(statement) {
      if (!next.isLate) return engine.writeOnce?.(statement) ?? []
      return late.write((connection) => connection.run(statement))
    },
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

/** Reports a lost connection while a statement is still on its way; it arrives when told. */
function lateArrival(engine: Engine) {
  const next = { isLate: false }
  let arrive: () => Promise<unknown> = async () => undefined
  const late: Engine = {
    ...engine,
    async writeOnce(statement) {
      if (!next.isLate) return engine.writeOnce?.(statement) ?? []
      next.isLate = false
      arrive = async () => engine.writeOnce?.(statement)
      throw new StoreError('the connection is lost; the statement arrives later')
    },
  }
  return { engine: late, next, arrive: () => arrive() }
}

for (const isFirst of [true, false])
  test(`PostgreSQL: a statement that arrives after its batch was given up counts nothing, ${isFirst ? 'the first of a process too' : 'later ones too'}`, async () => {
    const url = await server.createDatabase()
    const engine = openPostgres({ url, schema: 'accounts' })
    try {
      await engine.migrate([...ledgerMigrations, ...accessMigrations])
      const late = lateArrival(engine)
      const clock = () => Date.UTC(2026, 10, 21, 12)
      const meter = createMeter({ engine: late.engine, clock, pricePerCall: 100n, name: 'one' })
      if (!isFirst) await meter.admit(caller('before'))
      late.next.isLate = true
      await assert.rejects(meter.admit(caller('refused')), MeteringUnavailable)
      assert.equal((await meter.admit(caller('next'))).kind, 'admitted')
      await late.arrive()
      assert.equal((await meter.figures(caller('refused'))).requestCount, 0)
      assert.equal((await meter.figures(caller('next'))).requestCount, 1)
    } finally {
      await engine.close()
    }
  })

for (const isFirst of [true, false])
  test(`PostgreSQL: a call that is counted after its caller was refused is given back, ${isFirst ? 'the first of a process too' : 'later ones too'}`, async () => {
    const url = await server.createDatabase()
    const engine = openPostgres({ url, schema: 'accounts' })
    try {
      await engine.migrate([...ledgerMigrations, ...accessMigrations])
      const late = lateCommit(engine)
      const clock = () => Date.UTC(2026, 10, 21, 12)
      const meter = createMeter({ engine: late.engine, clock, pricePerCall: 100n, name: 'one' })
      if (!isFirst) await meter.admit(caller('before'))
      late.next.isLate = true
      await assert.rejects(meter.admit(caller('refused')), MeteringUnavailable)
      const next = meter.admit(caller('next'))
      await sleep(ASKED_MS)
      await late.commit()
      assert.equal((await next).kind, 'admitted')
      const asked = async () => (await meter.figures(caller('refused'))).requestCount
      for (let n = 0; n < 100 && (await asked()) !== 0; n += 1) await sleep(50)
      assert.equal(await asked(), 0)
    } finally {
      await engine.close()
    }
  })
