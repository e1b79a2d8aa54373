import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { startAccountsWorld } from '#test/accounts/world/accounts-world.ts'
import type { RoleProcess } from '#test/accounts/world/role-process.ts'
import { startPostgres } from '#test/postgres.ts'

/**
 * Two replicas serve the same 20 callers on PostgreSQL. Freezes one inside a transaction that locks their
 * rows; prints the other's throughput before and from 3 s after, and the calls counted in the end.
 */
const CALLERS = 20
const AT_ONCE = 16
const WINDOW_MS = 5_000
const KEPT_MIN = 0.8

const server = await startPostgres()
const databaseUrl = await server.createDatabase()
const quotas = { anonymous: 1_000_000, free: 1_000_000, premium: 1_000_000 }
const world = await startAccountsWorld({ databaseUrl, quotas })
const watcher = new Client({ connectionString: databaseUrl })
let isOver = false
try {
  await watcher.connect()
  await world.start('index')
  const replicas = [await world.start('serve'), await world.start('serve')] as const
  await Promise.all(replicas.map((replica) => replica.ready()))
  const served = replicas.map(() => 0)
  const clients = replicas.flatMap((replica, at) =>
    Array.from({ length: AT_ONCE }, (_, index) =>
      load(replica, index, () => (served[at] = (served[at] ?? 0) + 1)),
    ),
  )
  await sleep(1_000)
  const before = await rateOf(() => served[1] ?? 0)
  const rows = await freezeInTransaction(replicas[0])
  await sleep(3_000)
  const after = await rateOf(() => served[1] ?? 0)
  process.kill(replicas[0].pid, 'SIGCONT')
  await sleep(2_000)
  isOver = true
  await Promise.all(clients)
  const [counted] = (await watcher.query('select sum(used)::int as used from accounts.usage_days'))
    .rows
  const kept = after / before
  const answers = served.reduce((sum, each) => sum + each, 0)
  process.stdout.write(
    `frozen with ${rows} open transactions; the other served ${before}/s before, ${after}/s from 3 s after (${Math.round(kept * 100)} %)\n` +
      `${answers} calls answered 200, ${counted.used} counted\n`,
  )
  process.exitCode = kept >= KEPT_MIN && counted.used === answers ? 0 : 1
} finally {
  isOver = true
  await watcher.end()
  await world.stop()
  await server.stop()
}

/** Calls in a loop, rotating through the callers. */
async function load(replica: RoleProcess, from: number, onServed: () => void): Promise<void> {
  for (let call = from; !isOver; call += 1) {
    const headers = { 'x-forwarded-for': `203.0.113.${1 + (call % CALLERS)}` }
    const answer = await fetch(`${replica.url}/api/burns/total`, { headers }).catch(() => undefined)
    if (answer?.status === 200) onServed()
    await answer?.arrayBuffer()
  }
}

async function rateOf(count: () => number): Promise<number> {
  const start = count()
  await sleep(WINDOW_MS)
  return Math.round(((count() - start) * 1000) / WINDOW_MS)
}

/** Stops the process repeatedly until it is inside a write; returns the number of open writes. */
async function freezeInTransaction({ pid }: RoleProcess): Promise<number> {
  for (;;) {
    process.kill(pid, 'SIGSTOP')
    await sleep(100)
    const { rows } = await watcher.query(
      `select pid from pg_stat_activity
       where state = 'idle in transaction' and now() - state_change > interval '80 ms'
         and query not like 'begin isolation level repeatable read%'`,
    )
    if (rows.length > 0) return rows.length
    process.kill(pid, 'SIGCONT')
    await sleep(Math.random() * 20)
  }
}
