import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { describeEngine } from '../conformance.ts'
import { type Connection, StoreError } from '../engine.ts'
import { sql } from '../sql.ts'
import { openSqlite, type SqliteOptions } from './open-sqlite.ts'

const KINDS: Readonly<Record<string, Omit<SqliteOptions, 'file'>>> = {
  SQLite: { durability: 'full' },
  'SQLite that writes on a thread of its own': {
    durability: 'normal',
    bulk: true,
    ownThread: pathToFileURL(join(import.meta.dirname, 'writer-harness.ts')),
  },
}

for (const [name, options] of Object.entries(KINDS)) {
  const open = () =>
    openSqlite({ file: join(mkdtempSync(join(tmpdir(), 'sexton-')), 'store.sqlite'), ...options })

  describeEngine(name, async () => open())

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
