import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { LogSync } from '#db/sqlite/open-sqlite.ts'
import { heldDisk, turn, until } from '#test/store/log-sync-harness.ts'

/** Continuations between the end of one sync and the beginning of the next, and some more. */
const CONTINUATIONS = 12

test('one sync ends before the next begins, in whatever moment a commit comes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-'))
  const file = join(folder, 'log')
  writeFileSync(file, '')
  for (let moment = 0; moment < CONTINUATIONS; moment += 1) {
    const { sync, syncs } = heldDisk()
    let underWay = 0
    const log = new LogSync({
      file,
      sync: async (descriptor) => {
        underWay += 1
        assert.equal(underWay, 1, `at moment ${moment}`)
        await sync(descriptor)
        underWay -= 1
      },
    })
    const durable = [log.afterCommit(), log.afterCommit()]
    await until(() => syncs.length === 1)
    syncs[0]?.resolve()
    for (let n = 0; n < moment; n += 1) await undefined
    durable.push(log.afterCommit())
    await until(() => syncs.length === 2)
    await turn()
    syncs[1]?.resolve()
    await turn()
    syncs[2]?.resolve()
    await Promise.all(durable)
    await log.close()
  }
  await rm(folder, { recursive: true })
})
