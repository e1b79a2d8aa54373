import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { runFault } from './accounts/faults/run-fault.ts'
import type { StoreFault } from './accounts/faults/store-fault.ts'
import { startAccountsWorld } from './accounts/world/accounts-world.ts'
import { startPostgres } from './postgres.ts'

const QUOTAS = { anonymous: 5_000, free: 10_000, premium: 20_000 }

/** Backends die all the time for so long before nobody is let in any more. */
const STORM_MS = 1_000
const SHUT_MS = 500

/** Short enough that many die within a call, long enough that many calls are served. */
const PAUSE_MS = 30

/** Leaves most of the processor to others. */
const CALL_PAUSE_MS = 10

test('a service whose database connections die answers 503, then 200 again by itself, and counts each 200 once', async () => {
  const server = await startPostgres()
  after(() => server.stop())
  const databaseUrl = await server.createDatabase()
  const world = await startAccountsWorld({ databaseUrl, quotas: QUOTAS })
  after(() => world.stop())
  const api = await world.startHere('start')
  await api.ready()

  const { violations, answers } = await runFault({
    world,
    api,
    fault: lostConnections(server.url, databaseUrl),
    pids: async () => [],
    lastsMs: SHUT_MS,
    pauseMs: CALL_PAUSE_MS,
  })

  assert.deepEqual(violations, [])
  for (const what of ['data 200 quota', 'data 503 none'])
    assert.ok((answers.get(what) ?? 0) > 0, `some calls ended ${what}`)
  await api.stop()
  const audit = await world.audit()
  assert.equal(audit.code, 0, audit.words)
})

/** As while a server fails over: connections die, then none is let in, then all are again. */
function lostConnections(serverUrl: string, databaseUrl: string): StoreFault {
  const database = new URL(databaseUrl).pathname.slice(1)
  return {
    name: 'connections are lost',
    async begin() {
      const killer = new Client({ connectionString: serverUrl })
      await killer.connect()
      const killAll = () =>
        killer.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [
          database,
        ])
      const endMs = performance.now() + STORM_MS
      while (performance.now() < endMs) {
        await killAll()
        await sleep(PAUSE_MS)
      }
      await killer.query(`alter database ${database} allow_connections false`)
      await killAll()
      return async () => {
        await killer.query(`alter database ${database} allow_connections true`)
        await killer.end()
      }
    },
  }
}
