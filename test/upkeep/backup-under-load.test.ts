import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runCommand } from '#test/run-command.ts'
import { serveAccounts } from './served-accounts.ts'

test('a backup while 200 calls a second are served costs none of them', async () => {
  const seeded = { keys: 100, freeDays: 100, paidDays: 10 }
  await serveAccounts({ seeded, logs: 2_000 }, async ({ folder, environment, underCalls }) => {
    const { traffic, ended } = await underCalls(200, () =>
      runCommand(['backup', folder], environment),
    )
    assert.equal(ended.code, 0, ended.stderr)
    const { unavailable, refused, wrong, broken } = traffic
    assert.deepEqual({ unavailable, refused, wrong, broken: broken.size }, NOTHING_LOST)
  })
})

const NOTHING_LOST = { unavailable: 0, refused: 0, wrong: [], broken: 0 }
