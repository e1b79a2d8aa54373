import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { describeEngine } from '#test/store/conformance.ts'
import { type Connection, StoreError } from '../engine.ts'
import { sql } from '../sql.ts'
import { openSqlite, type SqliteOptions } from './open-sqlite.ts'

const KINDS: Readonly<Record<string, Omit<SqliteOptions, 'file'>>> = {
  SQLite: { durability: 'full' },
  'SQLite of the register': { durability: 'normal', bulk: true },
}

/** Holds the lock of a file that has no log yet, for a while. */
const MAKES_THE_FILE = `
  const { parentPort, workerData } = require('node:worker_threads')
  const { DatabaseSync } = require('node:sqlite')
  // Its commit waits for those who look at the file meanwhile.
  const database = new DatabaseSync(workerData, { timeout: 5_000 })
  database.exec('create table made (by text); begin immediate')
  parentPort.postMessage('held')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
  database.exec('commit')`

for (const [name, options] of Object.entries(KINDS)) {
  const open = () =>
    openSqlite({ file: join(mkdtempSync(join(tmpdir(), 'sexton-')), 'store.sqlite'), ...options })

  describeEngine(name, async () => open())

  test(`${name}: many reads that wait let connections be accepted between them`, async () => {
    const engine = open()
    const slow = sql`with recursive c(n) as (select 1 union all select n + 1 from c where n < 200000)
      select count(*) as n from c`
    let turns = 0
    const count = () => {
      turns += 1
      next = setImmediate(count)
    }
    let next = setImmediate(count)
    await Promise.all(Array.from({ length: 20 }, () => engine.read(slow)))
    clearImmediate(next)
    assert.ok(turns > 200, `${turns} turns of the event loop`)
    await engine.close()
  })

  test(`${name}: a new file that somebody else is just making is waited for`, async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'sexton-')), 'store.sqlite')
    const other = new Worker(MAKES_THE_FILE, { eval: true, workerData: file })
    await once(other, 'message')
    const engine = openSqlite({ file, ...options })
    await engine.migrate([{ id: 1, name: 'things', sql: 'create table things (id text)' }])
    assert.deepEqual(await engine.read(sql`select id from things`), [])
    await engine.close()
  })

  test(`${name}: nothing is stored of a transaction that a full disk ended halfway`, async () => {
    const engine = open()
    await engine.migrate([
      { id: 1, name: 'things', sql: 'create table things (id text primary key, size text)' },
    ])
    const store = (tx: Connection, id: string, size = 1) =>
      tx.run(sql`insert into things (id, size) values (${id}, ${'x'.repeat(size)})`)
    await engine.write((tx) => tx.run(sql`pragma max_page_count = 8`))
    const cutShort = engine.write(async (tx) => {
      await store(tx, 'before')
      const sentAtOnce = [store(tx, 'too large', 400_000), store(tx, 'meanwhile')]
      const [, meanwhile] = await Promise.allSettled(sentAtOnce)
      assert.ok(meanwhile?.status === 'rejected' && meanwhile.reason instanceof StoreError)
      await sentAtOnce[0]
    })
    await assert.rejects(cutShort, /full/)
    assert.deepEqual(await engine.read(sql`select id from things`), [])
    await engine.write((tx) => store(tx, 'afterwards'))
    assert.equal((await engine.read(sql`select id from things`)).length, 1)
    await engine.close()
  })
}
