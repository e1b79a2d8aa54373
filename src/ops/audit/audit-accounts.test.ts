import assert from 'node:assert/strict'
import { registerMigrations } from '#data/datasets.ts'
import type { Engine } from '#db/engine.ts'
import { plain } from '#db/sql.ts'
import { accountsMigrations } from '#main/stores.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { createMoneyWorld, type MoneyWorld } from '#test/money/money-world.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine, onSqlite } from '#test/store/each-engine.ts'
import { testContext } from '#test/test-context.ts'
import { auditAccounts } from './audit-accounts.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)

/** A world in which money was paid, spent, moved and taken back. */
async function livedIn(engine: Engine): Promise<MoneyWorld> {
  const world = createMoneyWorld(engine)
  const key = await world.mint()
  const other = await world.mint(key.wallet)
  await world.deposit({ payer: key.wallet, key, amount: 2_000n })
  await world.deposit({ payer: (await world.mint()).wallet, key, amount: 50n })
  await world.confirm()
  await world.call(key, 14)
  await world.move(key, other)
  await world.deposit({ payer: key.wallet, key: other, amount: 3_000n })
  await world.confirm()
  await world.reorg(11, false)
  await world.wait(40 * 3_600)
  await world.rotate(other)
  return world
}

onBoth('a store that was lived in breaks no promise', async ({ engine }) => {
  const world = await livedIn(engine)
  assert.deepEqual(await world.audit(), [])
})

function run(engine: Engine, text: string): Promise<unknown> {
  return engine.write((tx) => tx.run(plain(text)))
}

/** The audit as it is run: two looks, with a pause in which the service goes on. */
async function auditTwice(engine: Engine, pause: () => Promise<unknown>) {
  let found: readonly string[] = []
  await onSqlite(registerMigrations, async ({ engine: register }) => {
    const ctx = testContext({ accounts: engine, register, ecosystem: localEcosystemAt({}) })
    const waiting = { pause: async () => void (await pause()), note: () => undefined }
    found = await auditAccounts(ctx, waiting)
  })
  return found
}

onBoth('only what a second look finds too is a difference', async ({ engine }) => {
  await livedIn(engine)
  const change = (by: number) => run(engine, `update wallets set active_keys = active_keys + ${by}`)
  await change(1)
  assert.deepEqual(await auditTwice(engine, () => change(-1)), [])
  await change(1)
  assert.ok((await auditTwice(engine, async () => undefined)).length > 0)
})

onBoth(
  'a wrong balance is named with its newer figures while its key goes on calling',
  async (store) => {
    const { engine } = store
    const world = createMoneyWorld(engine)
    const key = await world.mint()
    await world.deposit({ payer: key.wallet, key, amount: 5_000n })
    await world.confirm()
    await world.call(key, 11)
    const account = `key:${key.publicId}`
    await run(engine, `update balances set micro_usd = micro_usd + 7 where account = '${account}'`)
    const found = await auditTwice(engine, () => world.call(key, 1))
    const wrong = found.filter((each) => each.startsWith('a stored balance'))
    assert.deepEqual(wrong, [
      `a stored balance is the sum of its postings less what its calls cost: ${account}: expected 4800, found 4807`,
    ])
  },
)
