import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readConfig } from '#config.ts'
import { testContext } from '#test/test-context.ts'
import { openStores } from './stores.ts'

const { ecosystem } = testContext()

test('accounts that are gone beside a register that served are not begun anew unless asked for', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'sexton-stores-'))
  context.after(() => rm(folder, { recursive: true }))
  const settingsWith = (more: Readonly<Record<string, string>> = {}) =>
    readConfig({ SEXTON_DATA: folder, ...more }, { isTty: false })
  const remove = async () => {
    for (const end of ['', '-wal', '-shm'])
      await rm(join(folder, `accounts.sqlite${end}`), { force: true })
  }
  await (await openStores(settingsWith(), ecosystem)).close()
  await remove()
  await assert.rejects(openStores(settingsWith(), ecosystem), {
    name: 'ConfigError',
    message: /accounts\.sqlite is gone.*put a backup back.*SEXTON_NEW_ACCOUNTS=yes/,
  })
  await (await openStores(settingsWith({ SEXTON_NEW_ACCOUNTS: 'yes' }), ecosystem)).close()
})
