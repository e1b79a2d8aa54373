import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { firstSchema } from '#db/migrate.ts'
import { openPostgres } from '#db/postgres/open-postgres.ts'
import { startPostgres, type TestPostgres } from '#test/postgres.ts'
import { fencedBy, Leader, LeadLostError, leaderTables } from './leader.ts'

let server: TestPostgres
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

async function onStore(
  work: (open: () => Leader, engine: ReturnType<typeof openPostgres>) => Promise<void>,
) {
  const engine = openPostgres({ url: await server.createDatabase(), schema: 'accounts' })
  await engine.migrate(firstSchema('accounts', [leaderTables]))
  const leaders: Leader[] = []
  const open = () => {
    const leader = new Leader({ engine, name: 'index' })
    leaders.push(leader)
    return leader
  }
  try {
    await work(open, engine)
  } finally {
    for (const leader of leaders) await leader.handOver()
    await engine.close()
  }
}

test('a leader that hands over is followed at once, and cannot write any more', () =>
  onStore(async (open, engine) => {
    const [first, second] = [open(), open()]
    const mine = fencedBy(first, engine)
    assert.ok(await first.take())
    await mine.write(async () => undefined)
    assert.ok(!(await second.take()))
    await first.handOver()
    assert.ok((await second.take()) && !first.leads)
    let isWritten = false
    const late = mine.write(async () => {
      isWritten = true
    })
    await assert.rejects(late, LeadLostError)
    assert.ok(!isWritten && second.leads)
    await engine.write((tx) => second.hold(tx))
  }))

test('two names are led apart', () =>
  onStore(async (open, engine) => {
    const other = new Leader({ engine, name: 'verifier' })
    assert.ok((await open().take()) && (await other.take()))
    await other.handOver()
  }))

test('a leader whose connection the server ended leads no more, and may lead again', () =>
  onStore(async (open, engine) => {
    const leader = open()
    assert.ok(await leader.take())
    await engine.read({
      kind: 'sql',
      parts: [
        "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())",
      ],
      values: [],
    })
    await assert.rejects(leader.renew(new AbortController().signal), LeadLostError)
    assert.ok(!leader.leads)
    assert.ok(await leader.take())
  }))

test('a leader that meets a newer epoch gives its lock back, and may lead again', () =>
  onStore(async (open, engine) => {
    const leader = open()
    assert.ok(await leader.take())
    await engine.write((tx) =>
      tx.run({ kind: 'sql', parts: ['update leaders set epoch = epoch + 1'], values: [] }),
    )
    await assert.rejects(
      engine.write((tx) => leader.hold(tx)),
      LeadLostError,
    )
    await assert.rejects(leader.renew(new AbortController().signal), LeadLostError)
    assert.ok(await leader.take())
    await engine.write((tx) => leader.hold(tx))
  }))
