import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { lockFolder } from './lock-folder.ts'

test('a data folder is for one start at a time, and free again afterwards', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-lock-'))
  const free = await lockFolder(folder)
  await assert.rejects(lockFolder(folder), /SEXTON_DATA: another "sexton start" uses/)
  free()
  const freeAgain = await lockFolder(folder)
  freeAgain()
})
