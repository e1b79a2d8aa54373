import assert from 'node:assert/strict'
import { existsSync, statSync } from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { sleep } from '#base/async.ts'
import { sql } from '../sql.ts'
import { openSqlite } from './open-sqlite.ts'

for (const [what, change] of [
  ['removed', (file: string) => rm(file)],
  ['replaced', (file: string) => rename(`${file}.other`, file)],
] as const)
  test(`once its file was ${what}, a store that must last refuses reads and writes, and says so`, async (context) => {
    const folder = await mkdtemp(join(tmpdir(), 'sexton-gone-'))
    context.after(() => rm(folder, { recursive: true }))
    const file = join(folder, 'accounts.sqlite')
    await openSqlite({ file: `${file}.other`, durability: 'full' }).close()
    const engine = openSqlite({ file, durability: 'full' })
    context.after(() => engine.close())
    await engine.write((tx) => tx.run(sql`create table calls (id integer)`))
    assert.ok(existsSync(file))
    await change(file)
    // The store looks twice a second.
    await sleep(600)
    const gone = {
      name: 'StoreError',
      message: /accounts\.sqlite was removed or replaced.*restore/,
    }
    await assert.rejects(
      engine.write((tx) => tx.run(sql`insert into calls values (1)`)),
      gone,
    )
    await assert.rejects(engine.read(sql`select 1`), gone)
  })

test('a new store is readable for its owner alone', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'sexton-private-'))
  context.after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'accounts.sqlite')
  const engine = openSqlite({ file, durability: 'full' })
  await engine.write((tx) => tx.run(sql`create table calls (id integer)`))
  for (const end of ['', '-wal', '-shm']) assert.equal(statSync(file + end).mode & 0o777, 0o600)
  await engine.close()
})
