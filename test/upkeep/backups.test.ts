import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { noteRevokedKeys, readRevokedKeys } from '#accounts/keys/revoked-keys.ts'
import { isRefusal } from '#base/refusal.ts'
import { readConfig } from '#config.ts'
import type { Engine } from '#db/engine.ts'
import { sql } from '#db/sql.ts'
import { migrateStore, noteRestore, openStore, openStores } from '#main/stores.ts'
import { runBackup } from '#ops/cli/backup-command.ts'
import { runImport } from '#ops/cli/import-command.ts'
import { bearer, codeOf } from '#test/callers/callers-harness.ts'
import { createMoneyWorld, type HeldKey, type MoneyWorld } from '#test/money/money-world.ts'
import { startPostgres } from '#test/postgres.ts'
import { testContext } from '#test/test-context.ts'

const root = mkdtempSync(join(tmpdir(), 'sexton-backups-'))
after(() => rmSync(root, { recursive: true, force: true }))
const newFolder = () => mkdtempSync(join(root, 'data-'))

const configOf = (environment: Readonly<Record<string, string>>) =>
  readConfig(environment, { isTty: false })

const silent = { say: () => undefined, done: () => undefined }

async function backUp(data: string, folder: string): Promise<string> {
  const context = { config: configOf({ SEXTON_DATA: data }), clock: Date.now }
  const before = readdirSync(folder)
  await runBackup(context, silent, folder)
  const [name = ''] = readdirSync(folder).filter((each) => !before.includes(each))
  return join(folder, name)
}

async function liveIn(folder: string) {
  const engine = await openStore(folder, 'accounts', { kind: 'sqlite' })
  await migrateStore(engine, 'accounts')
  const world = createMoneyWorld(engine)
  const key = await world.mint()
  const doomed = await world.mint()
  await world.deposit({ payer: key.wallet, key, amount: 5_000n })
  await world.confirm()
  await world.call(key, 15)
  await world.rotate(await world.mint(key.wallet))
  await world.wait(40 * 3_600)
  return { engine, world, key, doomed }
}

/** As a start opens the accounts. */
async function onStarted<T>(folder: string, work: (accounts: Engine) => Promise<T>): Promise<T> {
  const config = configOf({ SEXTON_DATA: folder })
  // The audit opens the stores too, and leaves the mark of a backup to the start.
  await (await openStores(config, testContext().ecosystem)).close()
  const { accounts, close } = await openStores(config, testContext().ecosystem)
  await noteRestore(config, accounts, Math.floor(Date.now() / 1_000))
  return work(accounts).finally(close)
}

async function isAccepted({ callers }: MoneyWorld, { secret }: HeldKey): Promise<boolean> {
  callers.now.ms += 1_000
  return !isRefusal(await callers.metering.identify(bearer(secret).headers, '192.0.2.1'))
}

const balanceOf = async (engine: Engine, { publicId }: HeldKey) =>
  (await engine.read(sql`select micro_usd from balances where account = ${`key:${publicId}`}`))[0]
    ?.micro_usd

test('after a backup is put back, its keys and money are there, keys revoked since stay revoked, and later payments are credited once', async () => {
  const folder = newFolder()
  const { engine, world, key, doomed } = await liveIn(folder)
  const file = await backUp(folder, newFolder())
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const tx = await world.deposit({ payer: key.wallet, key, amount: 700n })
  await world.confirm()
  const late = await world.mint()
  await world.rotate(doomed)
  const { dataFolder } = world.callers.metering.ctx.config
  noteRevokedKeys(folder, readRevokedKeys(dataFolder))
  await engine.close()
  renameSync(file, join(folder, 'accounts.sqlite'))
  await onStarted(folder, async (accounts) => {
    const later = createMoneyWorld(accounts, world)
    assert.equal(await balanceOf(accounts, key), 4_500)
    for (const claimed of ['again', 'once more']) {
      await later.deposit({ payer: key.wallet, key, amount: 700n, tx })
      await later.confirm()
      assert.equal(await balanceOf(accounts, key), 5_200, claimed)
    }
    assert.equal(await isAccepted(later, key), true)
    assert.equal(await isAccepted(later, late), false)
    assert.equal(await isAccepted(later, doomed), false)
    assert.deepEqual(await later.audit(), [])
  })
})

test('a backup waits for no write, and no write for it', async () => {
  const folder = newFolder()
  const { engine } = await liveIn(folder)
  const makeRows = (id: number) =>
    engine.write((tx) =>
      tx.run(sql`
      with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 2000)
      insert into used_messages (digest, wallet, action, used_unix)
      select ${`${id}-`} || n, '0xa', 'mint', 1 from numbers`),
    )
  for (let id = 0; id < 50; id += 1) await makeRows(id)
  const state = { isDone: false, writes: 0 }
  const backup = backUp(folder, newFolder()).finally(() => {
    state.isDone = true
  })
  while (!state.isDone) {
    await makeRows(50 + state.writes)
    state.writes += 1
  }
  const copy = new DatabaseSync(await backup, { readOnly: true })
  assert.equal(copy.prepare('pragma integrity_check').get()?.integrity_check, 'ok')
  // As it was at one moment: whole transactions only.
  const used = copy.prepare("select count(*) as n from used_messages where wallet = '0xa'").get()
  assert.equal(Number(used?.n) % 2_000, 0)
  copy.close()
  await engine.close()
})

test('a message that minted a key mints no second one after a restore, and rotates none', async () => {
  const folder = newFolder()
  const { engine, world, key } = await liveIn(folder)
  const file = await backUp(folder, newFolder())
  const { callers } = world
  callers.now.ms = Date.now() + 60_000
  // A wallet's clock may run a minute ahead.
  const minting = await callers.sign(key.wallet, 'mint')
  const rotating = await callers.sign(key.wallet, 'rotate', { key: key.publicId })
  callers.now.ms -= 60_000
  const mint = ({ callers: at }: MoneyWorld) => at.call('/api/keys', { body: minting })
  assert.equal(codeOf(await mint(world)), 201)
  await engine.close()
  renameSync(file, join(folder, 'accounts.sqlite'))
  await onStarted(folder, async (accounts) => {
    const later = createMoneyWorld(accounts, world)
    assert.equal(codeOf(await mint(later)), 'message_expired')
    const rotation = { path: { publicId: key.publicId }, method: 'POST', body: rotating } as const
    const rotated = await later.callers.call('/api/keys/{publicId}/rotate', rotation)
    assert.equal(codeOf(rotated), 'message_expired')
    later.callers.now.ms += 62_000
    assert.equal(codeOf(await mint(later)), 'message_expired')
    await later.mint(key.wallet)
  })
  // The restore is recorded once.
  await onStarted(folder, async (accounts) => {
    assert.equal((await accounts.read(sql`select 1 from restores`)).length, 1)
  })
})

test('a backup needs a folder that exists, and names pg_dump for PostgreSQL without its password', async () => {
  const folder = newFolder()
  await (await liveIn(folder)).engine.close()
  await assert.rejects(
    backUp(folder, folder).then(() => backUp(folder, join(root, 'none'))),
    {
      code: 'ENOENT',
    },
  )
  const context = { clock: Date.now, config: configOf({ SEXTON_DATA: folder }) }
  await assert.rejects(
    runBackup(context, silent, join(root, 'none')),
    /no such folder.*make or mount/,
  )
  const config = configOf({ SEXTON_DATABASE_URL: 'postgres://me:hush@127.0.0.1/db' })
  await assert.rejects(runBackup({ ...context, config }, silent, '/backups'), {
    message:
      /run: pg_dump --schema=accounts --format=custom --file=\/backups\/accounts-.*\.dump "\$SEXTON_DATABASE_URL"$/,
  })
})

test('accounts are imported into an empty PostgreSQL once, audited, and the old ones start no more', async (context) => {
  const postgres = await startPostgres()
  context.after(() => postgres.stop())
  const folder = newFolder()
  const { engine, world, key, doomed } = await liveIn(folder)
  const url = await postgres.createDatabase()
  const config = configOf({ SEXTON_DATABASE_URL: url })
  const said: string[] = []
  const report = { ...silent, say: (text: string) => void said.push(text) }
  await assert.rejects(
    runImport({ config, clock: Date.now }, report, folder),
    /in use by another process; stop it/,
  )
  await engine.close()
  noteRevokedKeys(folder, [doomed.publicId])
  await runImport({ config, clock: Date.now }, report, folder)
  assert.ok(said.includes('keys: 4 rows'), said.join('\n'))
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('accounts')),
    ['accounts.sqlite.imported'],
  )
  const accounts = await openStore('', 'accounts', config.database)
  const later = createMoneyWorld(accounts, world)
  assert.equal(await balanceOf(accounts, key), 4_500)
  assert.equal(await isAccepted(later, doomed), false, 'it was revoked after the backup')
  await later.call(key, 3)
  assert.deepEqual(await later.audit(), [])
  await accounts.close()
  const other = newFolder()
  await (await liveIn(other)).engine.close()
  await assert.rejects(
    runImport({ config, clock: Date.now }, report, other),
    /has rows in ".*"; name an empty one/,
  )
})
