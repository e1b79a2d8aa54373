import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { forgetKey } from '#accounts/metering/callers.ts'
import { registerMigrations } from '#data/datasets.ts'
import { sql } from '#db/sql.ts'
import { createHarness, HARNESS_MIGRATIONS } from '#test/callers/callers-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eventually } from '#test/world.ts'
import { openPostgres } from './open-postgres.ts'

const SOON_MS = 20_000
const server = await startPostgres()
after(() => server.stop())

test('a replica whose clock stands still hears of a revocation', async () => {
  const url = await server.createDatabase()
  const options = { url, schema: 'accounts' } as const
  const [one, two] = [openPostgres(options), openPostgres(options)]
  await one.migrate(HARNESS_MIGRATIONS)
  const [here, there] = [createHarness(one), createHarness(two)]
  const heard: (string | undefined)[] = []
  two.listen?.('sexton_keys', (digest) => {
    heard.push(digest)
    forgetKey(there.metering.ctx, digest)
  })
  await eventually(async () => heard.length > 0 || undefined, SOON_MS)
  const key = await here.mint()
  assert.equal(await there.isUsable(key.secret), true)
  await here.revoke(key)
  await eventually(async () => (await there.isUsable(key.secret)) === false || undefined, SOON_MS)
  await Promise.all([one.close(), two.close()])
})

test('a listener that lost its connection says that it may have missed something, and hears again', async () => {
  const url = await server.createDatabase()
  const engine = openPostgres({ url, schema: 'register' })
  await engine.migrate(registerMigrations)
  const heard: (string | undefined)[] = []
  engine.listen?.('sexton_blocks', (payload) => heard.push(payload))
  const hears = (...wanted: (string | undefined)[]) =>
    eventually(async () => JSON.stringify(heard) === JSON.stringify(wanted) || undefined, SOON_MS)
  const move = () => engine.write((tx) => tx.run(sql`delete from positions where chain_id = 8453`))
  await hears(undefined)
  await move()
  await hears(undefined, '')
  await engine.read(sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and query like 'listen %'`)
  await hears(undefined, '', undefined)
  await move()
  await hears(undefined, '', undefined, '')
  await engine.close()
})
