import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Entry } from './entry.ts'
import { openJournal, readJournal } from './journal.ts'

const folder = mkdtempSync(join(tmpdir(), 'sexton-journal-'))
after(() => rmSync(folder, { recursive: true }))

test('a journal gives back every entry as it was written, whatever their number', async () => {
  const some: readonly Entry[] = [
    { type: 'sent', call: 1, caller: 7, kind: 'conditional', atMs: 1_700_000_000_123 },
    {
      type: 'answered',
      call: 1,
      caller: 7,
      kind: 'conditional',
      status: 304,
      source: 'none',
      limit: 500,
      remaining: 0,
      resetUnix: Number.NaN,
      sentMs: 1_700_000_000_123,
      atMs: 1_700_000_000_456,
    },
    { type: 'lost', call: 2, caller: 8, kind: 'data', atMs: 5 },
    { type: 'funded', caller: 8, microUsd: 1_000_000, atMs: 6 },
    { type: 'ending', caller: 8, atMs: 7 },
    { type: 'ended', caller: 8, successor: undefined, atMs: 8 },
    { type: 'ended', caller: 8, successor: 0, atMs: 9 },
  ]
  const written = Array.from({ length: 3_000 }, () => some).flat()
  const file = join(folder, 'journal')
  const journal = openJournal(file)
  for (const entry of written) journal.add(entry)
  journal.close()
  const read: Entry[] = []
  for await (const entry of readJournal(file)) read.push(entry)
  assert.equal(journal.length, written.length)
  assert.deepEqual(read, written)
})
