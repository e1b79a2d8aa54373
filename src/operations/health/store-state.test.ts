import assert from 'node:assert/strict'
import { accountsMigrations } from '#main/stores.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { stateOfRegister, watchAccounts } from './store-state.ts'

const watch = (engine: Engine) =>
  watchAccounts({ engine, migrations: accountsMigrations, clock: Date.now })

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

onPostgres('a read-only server is not ready and says so', async ({ engine, replica }) => {
  const [row] = await engine.read(sql`select current_database() as name`)
  const name = String(row?.name)
  const statement = `alter database "${name}" set default_transaction_read_only = on`
  await engine.write((tx) => tx.run({ kind: 'sql', parts: [statement], values: [] }))
  const later = replica()
  try {
    assert.equal(await watch(later)(), 'is read-only')
  } finally {
    await later.close()
  }
})

onBoth('accounts that refuse a row of the meter are not ready', async ({ engine }) => {
  const body =
    engine.dialect === 'postgres'
      ? 'alter table usage_days add check (day > 0)'
      : "create trigger no_rows before insert on usage_days begin select raise(abort, 'no'); end"
  await engine.write((tx) => tx.run({ kind: 'sql', parts: [body], values: [] }))
  assert.equal(await watch(engine)(), 'refuses what the meter writes')
})
