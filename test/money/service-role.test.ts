import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { accountsMigrations } from '#main/stores.ts'
import type { Engine } from '#store/engine.ts'
import { openPostgres } from '#store/postgres/open-postgres.ts'
import { startPostgres, type TestPostgres } from '#test/postgres.ts'
import { createMoneyWorld } from './money-world.ts'

let server: TestPostgres
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

/** The statements that the documentation tells operators to run. */
function documentedRights(): readonly string[] {
  const page = readFileSync(join(import.meta.dirname, '../../docs/scaling.md'), 'utf8')
  const block = /```sql\n([\s\S]*?)```/.exec(page)?.[1] ?? ''
  return block.split(';').filter((statement) => statement.trim() !== '')
}

const run = (engine: Engine, text: string) =>
  engine.write((tx) => tx.run({ kind: 'sql', parts: [text], values: [] }))

test('the service lives with the documented rights, which let nobody rewrite the ledger', async () => {
  const url = await server.createDatabase()
  const owner = openPostgres({ url, schema: 'accounts' })
  const asService = new URL(url)
  asService.username = 'sexton_service'
  asService.password = encodeURIComponent('choose one')
  const service = openPostgres({ url: asService.href, schema: 'accounts' })
  try {
    await owner.migrate(accountsMigrations)
    const rights = documentedRights()
    assert.ok(rights.length > 4)
    for (const statement of rights) await run(owner, statement)
    await service.migrate(accountsMigrations)
    const world = createMoneyWorld(service)
    const key = await world.mint()
    const other = await world.mint(key.wallet)
    await world.deposit({ payer: key.wallet, key, amount: 3_000n })
    await world.confirm()
    const last = (await world.call(key, 15)).at(-1)
    assert.equal(last?.source, 'prepaid')
    await world.undo([last])
    await world.move(key, other)
    const newest = await world.rotate(other)
    await world.call(newest, 5)
    await world.reorg(12, true)
    await world.confirm()
    await world.wait(120 * 86_400)
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
      await assert.rejects(run(service, change), /permission denied|must be owner/, change)
  } finally {
    await service.close()
    await owner.close()
  }
})
