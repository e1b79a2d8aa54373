import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { sql } from '#store/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { readSettings } from './settings.ts'
import { openStores } from './stores.ts'

test('accounts that are gone beside a register that served are not begun anew unless asked for', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'sexton-stores-'))
  context.after(() => rm(folder, { recursive: true }))
  const settingsWith = (more: Readonly<Record<string, string>> = {}) =>
    readSettings({ SEXTON_DATA: folder, ...more }, { isTty: false })
  const remove = async () => {
    for (const end of ['', '-wal', '-shm'])
      await rm(join(folder, `accounts.sqlite${end}`), { force: true })
  }
  const first = await openStores(settingsWith())
  await first.close()
  // Nothing was indexed yet: a start that was cut off.
  await remove()
  const second = await openStores(settingsWith())
  await second.register.write((tx) =>
    tx.run(sql`insert into positions values (1, 5, '0x', 1, 5, 5, 5)`),
  )
  await second.close()
  await remove()
  await assert.rejects(openStores(settingsWith()), {
    name: 'SettingsError',
    message: /accounts\.sqlite is gone.*put a backup back.*SEXTON_NEW_ACCOUNTS=yes/,
  })
  await (await openStores(settingsWith({ SEXTON_NEW_ACCOUNTS: 'yes' }))).close()
})

for (const dialect of ['SQLite', 'PostgreSQL'] as const)
  test(`${dialect}: a register of an earlier version is built anew, and the accounts stay`, async (context) => {
    const folder = await mkdtemp(join(tmpdir(), 'sexton-stores-'))
    context.after(() => rm(folder, { recursive: true }))
    const environment: Record<string, string> = { SEXTON_DATA: folder }
    if (dialect === 'PostgreSQL') {
      const server = await startPostgres()
      context.after(() => server.stop())
      environment.SEXTON_DATABASE_URL = await server.createDatabase()
    }
    const open = () => openStores(readSettings(environment, { isTty: false }))
    const older = await open()
    await older.accounts.write((tx) =>
      tx.run(sql`insert into balances (account, prepaid, micro_usd) values ('credits', 1, 7)`),
    )
    await older.register.write(async (tx) => {
      await tx.run(sql`insert into positions values (1, 5, '0x', 1, 5, 5, 5)`)
      await tx.run(sql`update migrations set id = 1001 where id = (select min(id) from migrations)`)
    })
    await older.close()
    const { register, accounts, close } = await open()
    const countOf = async (rows: Promise<readonly unknown[]>) => (await rows).length
    assert.equal(await countOf(register.read(sql`select chain_id from positions`)), 0)
    const credits = await accounts.read(sql`select account, micro_usd from balances`)
    assert.deepEqual(
      credits.map(({ account, micro_usd }) => [account, Number(micro_usd)]),
      [['credits', 7]],
    )
    await close()
    // A second start changes nothing.
    const again = await open()
    await again.close()
  })

test('accounts of 0.1.0 are refused, with what to do', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'sexton-stores-'))
  context.after(() => rm(folder, { recursive: true }))
  const settings = readSettings({ SEXTON_DATA: folder }, { isTty: false })
  const { accounts, close } = await openStores(settings)
  await accounts.write((tx) =>
    tx.run(sql`insert into migrations (id, name) values (106, 'grants')`),
  )
  await close()
  await assert.rejects(openStores(settings), {
    name: 'SettingsError',
    message: /accounts are of Sexton 0\.1\.0.*name a new data folder or database/,
  })
})
