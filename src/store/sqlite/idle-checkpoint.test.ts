import assert from 'node:assert/strict'
import { mkdtempSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { Engine } from '../engine.ts'
import { sql } from '../sql.ts'
import { openSqlite } from './open-sqlite.ts'

const WAIT_MS = 20_000

/** Longer than the pause before a copy. */
const PAUSE_MS = 400

/** Shorter than that pause. */
const SOON_MS = 50

interface Opened {
  readonly engine: Engine
  logBytes(): number
  /** Ten kilobytes each. */
  insert(rows: number): Promise<void>
  untilCopied(): Promise<void>
}

async function withEngine(work: (opened: Opened) => Promise<void>): Promise<void> {
  const file = join(mkdtempSync(join(tmpdir(), 'sexton-')), 'store.sqlite')
  const engine = openSqlite({
    file,
    durability: 'normal',
    bulk: true,
    ownThread: pathToFileURL(join(import.meta.dirname, '../../../test/store/writer-harness.ts')),
  })
  await engine.migrate([{ id: 1, name: 'things', sql: 'create table things (text text)' }])
  const logBytes = () => statSync(`${file}-wal`).size
  await work({
    engine,
    logBytes,
    insert: async (rows) => {
      const texts = Array.from({ length: rows }, (_, index) => [String(index).padEnd(10_000)])
      const into = { table: 'things', columns: { text: 'text' } } as const
      await engine.write((tx) => tx.insert(into, texts))
    },
    async untilCopied() {
      const deadline = Date.now() + WAIT_MS
      while (logBytes() > 0) {
        assert.ok(Date.now() < deadline, 'the log was never copied')
        await setTimeout(5)
      }
    },
  })
  await engine.close()
}

test('a long log is copied into the database once nobody writes, a short one is left', () =>
  withEngine(async ({ engine, logBytes, insert, untilCopied }) => {
    await insert(100)
    await setTimeout(PAUSE_MS)
    assert.ok(logBytes() > 1_000_000)
    await insert(2_000)
    assert.ok(logBytes() > 16_000_000)
    await untilCopied()
    const [row] = await engine.read(sql`select count(*) as many from things`)
    assert.equal(row?.many, 2_100)
  }))

test('a log is not copied between writes that come one soon after another', () =>
  withEngine(async ({ logBytes, insert, untilCopied }) => {
    await insert(2_000)
    let endedMs = performance.now()
    for (let write = 0; write < 100; write += 1) {
      await insert(1)
      // On a machine that stands still for so long nothing is shown.
      if (performance.now() - endedMs > SOON_MS) return
      endedMs = performance.now()
      assert.ok(logBytes() > 16_000_000, `copied after ${write} more writes`)
      await setTimeout(2)
    }
    await untilCopied()
  }))

test('a log that a reader of an older state holds is copied when that has ended', () =>
  withEngine(async ({ engine, logBytes, insert, untilCopied }) => {
    await insert(1)
    await engine.snapshot(async (reads) => {
      await reads.run(sql`select count(*) from things`)
      await insert(2_000)
      await setTimeout(PAUSE_MS)
      assert.ok(logBytes() > 16_000_000)
    })
    await untilCopied()
  }))
