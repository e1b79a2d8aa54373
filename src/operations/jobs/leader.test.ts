import assert from 'node:assert/strict'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { fencedBy, LEASE_MS, Leader, LeaseLostError, leaseMigration } from './leader.ts'

const onBoth = eachEngine(startPostgres, [leaseMigration(1)])

/** On PostgreSQL the server's clock decides, which a test cannot move. */
async function passTime(engine: Engine, ms: number): Promise<void> {
  if (engine.dialect === 'postgres')
    await engine.write((tx) => tx.run(sql`update leases set expires_at_ms = expires_at_ms - ${ms}`))
}

onBoth('a holder whose clock is an hour ahead does not delay others', async ({ engine }) => {
  const now = Date.now()
  const name = 'index'
  const ahead = new Leader({ engine, name, clock: () => now + 3_600_000 })
  assert.ok(await ahead.take())
  await passTime(engine, LEASE_MS + 1)
  const next = new Leader({ engine, name, clock: () => now + LEASE_MS + 1 })
  assert.ok(await next.take())
})

onBoth('a writer that lost its lease cannot write any more', async ({ engine }) => {
  let now = 1_000_000
  const open = () => new Leader({ engine, clock: () => now, name: 'index' })
  const [first, second] = [open(), open()]
  const mine = fencedBy(first, engine)
  assert.ok(await first.take())
  await mine.write(async () => undefined)
  assert.ok(!(await second.take()))
  now += LEASE_MS + 1
  await passTime(engine, LEASE_MS + 1)
  assert.ok(await second.take())
  let isWritten = false
  const late = mine.write(async () => {
    isWritten = true
  })
  await assert.rejects(late, LeaseLostError)
  assert.ok(!isWritten && !first.leads && second.leads)
  await engine.write((tx) => second.hold(tx))
})

onBoth('a leader that hands over is followed at once', async ({ engine }) => {
  const open = () => new Leader({ engine, clock: Date.now, name: 'verifier' })
  const [first, second] = [open(), open()]
  assert.ok(await first.take())
  await first.handOver()
  assert.ok((await second.take()) && !first.leads)
})
