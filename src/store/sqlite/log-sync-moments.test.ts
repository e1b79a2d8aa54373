import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { LogSync } from './log-sync.ts'

type Sync = ReturnType<typeof Promise.withResolvers<void>>

/** Lets everything run that waits for nothing but its turn. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await turn()
}

/** Continuations between the end of one sync and the beginning of the next, and some more. */
const CONTINUATIONS = 12

test('one sync ends before the next begins, in whatever moment a commit comes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-'))
  const file = join(folder, 'log')
  writeFileSync(file, '')
  for (let moment = 0; moment < CONTINUATIONS; moment += 1) {
    const syncs: Sync[] = []
    let underWay = 0
    const log = new LogSync({
      file,
      sync: async () => {
        underWay += 1
        assert.equal(underWay, 1, `at moment ${moment}`)
        const sync = Promise.withResolvers<void>()
        syncs.push(sync)
        await sync.promise
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
