import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { leaderTables } from '#index/leader.ts'
import { startPostgres } from '#test/postgres.ts'
import { StoreError } from '../engine.ts'
import { firstSchema } from '../migrate.ts'
import { sql } from '../sql.ts'
import { openPostgres, type PostgresOptions } from './open-postgres.ts'

const server = await startPostgres()
after(() => server.stop())

const ROWS = 20
const MIGRATIONS = firstSchema('accounts', [
  leaderTables,
  'create table counters (id bigint primary key, used bigint)',
])

const module = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)

/**
 * A child process that starts a write, reports that it holds the locks, and freezes. Once resumed, it
 * reports how the write ended.
 */
async function frozenIn(options: PostgresOptions, work: string) {
  const program = `
    import { setTimeout as sleep } from 'node:timers/promises'
    import { openPostgres } from ${module('./open-postgres.ts')}
    import { Leader } from ${module('../../index/leader.ts')}
    import { sql } from ${module('../sql.ts')}
    const engine = openPostgres(${JSON.stringify(options)})
    const held = async () => {
      process.stdout.write('held')
      await sleep(500)
    }
    ${work}
    process.exit()`
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', program])
  const words: string[] = []
  child.stdout.setEncoding('utf8').on('data', (word: string) => void words.push(word))
  child.stderr.pipe(process.stderr)
  await once(child.stdout, 'data')
  child.kill('SIGSTOP')
  return { words, wake: () => wake(child) }
}

async function wake(child: ChildProcess): Promise<void> {
  const closed = once(child, 'close')
  child.kill('SIGCONT')
  await closed
}

async function migrated(schema: PostgresOptions['schema']): Promise<PostgresOptions> {
  const options = { url: await server.createDatabase(), schema }
  const engine = openPostgres(options)
  await engine.migrate(MIGRATIONS)
  await engine.close()
  return options
}

const addTo = (id: number) => sql`update counters set used = used + 1 where id = ${id}`

test('a replica frozen inside a transaction loses its row locks, and nothing is counted twice when it resumes', async () => {
  const options = await migrated('accounts')
  const engine = openPostgres({ ...options, lockTimeoutMs: 1_000 })
  try {
    await engine.write((tx) =>
      tx.run(sql`insert into counters select id, 0 from generate_series(1, ${ROWS}) as ids (id)`),
    )
    const replica = await frozenIn(
      options,
      `await engine.write(async (tx) => {
        await tx.run(sql\`update counters set used = used + 1\`)
        await held()
      }).then(() => process.stdout.write(' stored'), () => process.stdout.write(' refused'))`,
    )
    let counted = 0
    const count = async (id: number) => {
      for (let isCounted = false; !isCounted; )
        isCounted = await engine
          .write((tx) => tx.run(addTo(id)))
          .then(
            () => true,
            (error) => {
              assert.ok(error instanceof StoreError)
              return false
            },
          )
      counted += 1
    }
    await Promise.all(Array.from({ length: ROWS }, (_, row) => count(row + 1)))
    await replica.wake()
    assert.equal(replica.words.join(''), 'held refused')
    const [sum] = await engine.read(sql`select cast(sum(used) as bigint) as used from counters`)
    assert.equal(sum?.used, counted)
  } finally {
    await engine.close()
  }
})

test('settings are not sent as startup parameters, which poolers refuse', async () => {
  const engine = openPostgres(await migrated('accounts'))
  try {
    const rows = await engine.read(sql`select name from pg_settings where source = 'client'`)
    const names = rows.map((row) => row.name)
    assert.deepEqual(
      ['search_path', 'statement_timeout', 'lock_timeout'].filter((each) => names.includes(each)),
      [],
    )
    const [path] = await engine.read(sql`select current_schema() as name`)
    assert.equal(path?.name, 'accounts')
  } finally {
    await engine.close()
  }
})
