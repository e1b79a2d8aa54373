import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Engine } from '#db/engine.ts'
import { sql } from '#db/sql.ts'
import { openSqlite } from '#db/sqlite/open-sqlite.ts'
import { accountsMigrations } from '#main/stores.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { stateOfRegister, watchAccounts } from './read-readiness.ts'

const UNWRITABLE = 'cannot be written to: full, read-only, or changed by hand'

const watch = (engine: Engine) =>
  watchAccounts({ accounts: engine, clock: Date.now }, accountsMigrations)

const onBoth = eachEngine(startPostgres, accountsMigrations)
const onPostgres = eachEngine(startPostgres, accountsMigrations, ['postgres'])

onBoth(
  'accounts that can count calls are ok, and the probe leaves nothing behind',
  async (store) => {
    const { engine } = store
    assert.equal(await watch(engine)(), 'ok')
    assert.deepEqual(await engine.read(sql`select bucket from usage_days`), [])
  },
)

test('accounts whose commits do not reach the disk are not ready', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-'))
  const disk = { isFull: false }
  const engine = openSqlite({
    file: join(folder, 'accounts.sqlite'),
    durability: 'full',
    sync: async () => assert.ok(!disk.isFull, 'ENOSPC'),
  })
  await engine.migrate(accountsMigrations)
  disk.isFull = true
  assert.equal(await watch(engine)(), UNWRITABLE)
  disk.isFull = false
  assert.equal(await watch(engine)(), 'ok')
  await engine.close()
  rmSync(folder, { recursive: true })
})

onBoth('a store that is not migrated is named with what is missing', async ({ engine }) => {
  await engine.write((tx) => tx.run(sql`delete from migrations`))
  const missing = (store: string) => `is not migrated: 1 "first schema of the ${store}" is missing`
  assert.equal(await stateOfRegister(engine), missing('register'))
  assert.equal(await watch(engine)(), missing('accounts'))
})

onPostgres('a closed store cannot be reached', async ({ engine }) => {
  const state = watch(engine)
  await engine.close()
  assert.equal(await state(), 'cannot be reached')
  assert.equal(await stateOfRegister(engine), 'cannot be reached')
})
