import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import { accountsMigrations } from '#main/stores.ts'
import type { Role } from '#operations/grants/rights.ts'
import type { Engine } from '#store/engine.ts'
import { openPostgres } from '#store/postgres/open-postgres.ts'
import { makeDatabaseRole } from '#test/database-role.ts'
import { startPostgres, type TestPostgres } from '#test/postgres.ts'
import { createMoneyWorld } from './money-world.ts'

let server: TestPostgres
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

const run = (engine: Engine, text: string) =>
  engine.write((tx) => tx.run({ kind: 'sql', parts: [text], values: [] }))

test('money lives with the printed grants of serve and verify, which let nobody rewrite the ledger', async () => {
  const url = await server.createDatabase()
  const owner = openPostgres({ url, schema: 'accounts' })
  await owner.migrate(accountsMigrations)
  const register = openPostgres({ url, schema: 'register' })
  await register.migrate(registerMigrations)
  await register.close()
  const openAs = async (role: Role) => {
    const { url: limited } = await makeDatabaseRole(url, [role])
    return openPostgres({ url: limited, schema: 'accounts' })
  }
  const [service, verifying] = [await openAs('serve'), await openAs('verify')]
  try {
    await service.migrate(accountsMigrations)
    const world = createMoneyWorld(service, undefined, verifying)
    const key = await world.mint()
    const other = await world.mint(key.wallet)
    await world.deposit({ payer: key.wallet, key, amount: 3_000n })
    await world.confirm()
    const last = (await world.call(key, 14)).at(-1)
    assert.equal(last?.source, 'prepaid')
    await world.move(key, other)
    const newest = await world.rotate(other)
    await world.call(newest, 5)
    await world.reorg(12, true)
    await world.confirm()
    await world.wait(120 * 86_400)
    await world.confirm()
    assert.deepEqual(await world.audit(), [])
    for (const change of [
      `update postings set micro_usd = 1`,
      `delete from postings`,
      `delete from credits`,
      `truncate postings`,
      `alter table postings disable trigger all`,
      `drop trigger postings_stay on postings`,
      `set session_replication_role = replica`,
      `delete from keys`,
      `delete from balances`,
      `update migrations set name = ''`,
    ])
      for (const each of [service, verifying])
        await assert.rejects(run(each, change), /permission denied|must be owner/, change)
  } finally {
    await service.close()
    await verifying.close()
    await owner.close()
  }
})
