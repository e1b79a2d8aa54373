import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine } from '#db/engine.ts'
import { firstSchema } from '#db/migrate.ts'
import { openPostgres } from '#db/postgres/open-postgres.ts'
import { sql } from '#db/sql.ts'
import { startPostgres, type TestPostgres } from '#test/postgres.ts'
import { leaderTables } from './leader.ts'

const MIGRATIONS = firstSchema('accounts', [
  leaderTables,
  'create table seen (process text, begins integer)',
])

/** The silence that ends a session, a poll of the standby, and a slow machine; 15 s are promised. */
const FOLLOWED_MS = 15_000

let server: TestPostgres
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

const module = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)

/** A process with one job, which notes in two transactions that it begins and ends. */
function startProcess(name: string, open: string): ChildProcess {
  const program = `
    import { fencedBy, Leader } from ${module('./leader.ts')}
    import { runJobs } from ${module('./run-jobs.ts')}
    import { openPostgres } from ${module('../db/postgres/open-postgres.ts')}
    import { sql } from ${module('../db/sql.ts')}
    const engine = ${open}
    const leader = new Leader({ engine, name: 'verifier' })
    const fenced = fencedBy(leader, engine)
    const note = (begins) => fenced.write((tx) =>
      tx.run(sql\`insert into seen (process, begins) values (\${process.argv[1]}, \${begins})\`))
    const run = async () => { await note(1); await note(0) }
    const job = { name: 'job', everySeconds: 0.1, budgetSeconds: 5, whileFailing: '', run }
    const logger = { info() {}, error(_, text) { console.error(text) } }
    const { signal } = new AbortController()
    await Promise.all([leader.keep(signal), runJobs([job], { leader, logger, runs: new Map() }, signal)])`
  const child = spawn(
    process.execPath,
    ['--input-type=module-typescript', '--eval', program, name],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  )
  return child
}

async function runsOf(engine: Engine): Promise<readonly string[]> {
  const rows = await engine.read(sql`select process, begins from seen`)
  return rows.map(({ process, begins }) => `${process} ${begins}`)
}

/** Resolves with how long it took until the process ran the job again. */
async function untilRun(engine: Engine, name: string): Promise<number> {
  const startMs = performance.now()
  const before = (await runsOf(engine)).filter((each) => each === `${name} 0`).length
  for (;;) {
    const now = (await runsOf(engine)).filter((each) => each === `${name} 0`).length
    if (now > before) return performance.now() - startMs
    assert.ok(performance.now() - startMs < FOLLOWED_MS, `${name} does not run the job`)
    await sleep(50)
  }
}

async function checkDeaths(engine: Engine, open: string): Promise<void> {
  await engine.migrate(MIGRATIONS)
  const children: ChildProcess[] = []
  const start = (name: string) => {
    const child = startProcess(name, open)
    children.push(child)
    return child
  }
  try {
    const first = start('first')
    await untilRun(engine, 'first')
    const second = start('second')
    first.kill('SIGSTOP')
    await untilRun(engine, 'second')
    first.kill('SIGCONT')
    await sleep(1_000)
    second.kill('SIGKILL')
    await once(second, 'exit')
    await untilRun(engine, 'first')
    const runs = await runsOf(engine)
    const changes = runs.filter((each, at) => each.split(' ')[0] !== runs[at - 1]?.split(' ')[0])
    assert.deepEqual(
      changes.map((each) => each.split(' ')[0]),
      ['first', 'second', 'first'],
      'nothing is written by a process that was followed',
    )
  } finally {
    for (const child of children) child.kill('SIGKILL')
  }
}

test('a killed and a stopped leader are followed within 15 s, and write no more', async () => {
  const options = { url: await server.createDatabase(), schema: 'accounts' } as const
  const engine = openPostgres(options)
  await checkDeaths(engine, `openPostgres(${JSON.stringify(options)})`)
  await engine.close()
})
