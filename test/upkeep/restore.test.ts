import assert from 'node:assert/strict'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Writable } from 'node:stream'
import { after, before, test } from 'node:test'
import { bearer } from '#access/access-harness.ts'
import { isRefusal } from '#domain/refusal.ts'
import { openLogger } from '#main/logger.ts'
import { readSettings } from '#main/settings.ts'
import { migrateStore, openStore } from '#main/stores.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { openCutAtCommit } from '#test/cut-at-commit.ts'
import { createMoneyWorld, type HeldKey, type MoneyWorld } from '#test/money/money-world.ts'
import { startPostgres, type TestPostgres } from '#test/postgres.ts'
import { runBackup } from '#upkeep/backup/run-backup.ts'
import { runRevoke } from '#upkeep/keys/run-keys.ts'
import { type RestoreOptions, runRestore } from '#upkeep/restore/run-restore.ts'

let postgres: TestPostgres
let folder: string
before(async () => {
  postgres = await startPostgres()
  folder = mkdtempSync(join(tmpdir(), 'sexton-restore-'))
})
after(async () => {
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** A data folder and, on PostgreSQL, a database. */
interface Place {
  readonly folder: string
  readonly url: string | undefined
}

type Kind = 'SQLite' | 'PostgreSQL'

async function newPlace(kind: Kind): Promise<Place> {
  const url = kind === 'SQLite' ? undefined : await postgres.createDatabase()
  return { folder: mkdtempSync(join(folder, 'data-')), url }
}

const openPlace = ({ folder: data, url }: Place) =>
  openStore(data, 'accounts', url === undefined ? { kind: 'sqlite' } : { kind: 'postgres', url })

function contextOf({ folder: data, url }: Place) {
  const environment = { SEXTON_DATA: data, ...(url !== undefined && { SEXTON_DATABASE_URL: url }) }
  const progress = { update: () => undefined, print: () => undefined, finish: () => undefined }
  return { settings: readSettings(environment, { isTty: false }), clock: Date.now, progress }
}

/** Runs a command and returns its JSON. */
// biome-ignore lint/suspicious/noExplicitAny: the commands' JSON is what the assertions look at.
async function resultOf(run: (report: any) => Promise<void>): Promise<any> {
  const said: string[] = []
  let result: unknown
  let code: unknown
  await run({
    say: (text: string) => said.push(text),
    done(value: unknown, exitCode = 0) {
      result = value
      code = exitCode
    },
  })
  return Object.assign({ said, code }, result)
}

const backUp = (place: Place, file: string) =>
  resultOf((report) => runBackup(contextOf(place), report, file))

const restore = (place: Place, file: string, more: Partial<RestoreOptions> = {}) =>
  resultOf((report) =>
    runRestore(contextOf(place), report, {
      file,
      log: [],
      revokeAgain: false,
      despiteDifferences: false,
      ...more,
    }),
  )

const newFile = () => join(mkdtempSync(join(folder, 'backup-')), 'accounts.sqlite')

interface Lived {
  readonly world: MoneyWorld
  readonly engine: Engine
  readonly key: HeldKey
  readonly doomed: HeldKey
}

async function liveIn(place: Place): Promise<Lived> {
  const engine = await openPlace(place)
  await migrateStore(engine, 'accounts')
  const world = createMoneyWorld(engine)
  const key = await world.mint()
  const doomed = await world.mint()
  await world.deposit({ payer: key.wallet, key, amount: 5_000n })
  await world.confirm()
  await world.call(key, 15)
  return { world, engine, key, doomed }
}

async function isAccepted({ access }: MoneyWorld, { secret }: HeldKey): Promise<boolean> {
  access.now.ms += 1_000
  return !isRefusal(await access.access.identify(bearer(secret).headers, '192.0.2.1'))
}

const balanceOf = async (engine: Engine, { publicId }: HeldKey) =>
  (await engine.read(sql`select micro_usd from balances where account = ${`key:${publicId}`}`))[0]
    ?.micro_usd

for (const [from, to] of [
  ['SQLite', 'SQLite'],
  ['SQLite', 'PostgreSQL'],
  ['PostgreSQL', 'PostgreSQL'],
  ['PostgreSQL', 'SQLite'],
] as const)
  test(`${from} to ${to}: after a loss every key and balance of the backup is back, and later payments are found again once`, async () => {
    const [place, fresh] = [await newPlace(from), await newPlace(to)]
    const { world, engine, key, doomed } = await liveIn(place)
    const file = newFile()
    await backUp(place, file)
    const tx = await world.deposit({ payer: key.wallet, key, amount: 700n })
    await world.confirm()
    const late = await world.mint()
    await world.revoke(doomed)
    const restored = await restore(fresh, file, { old: place.url ?? place.folder })
    assert.deepEqual(idsOf(restored.mintedSince), [late.publicId])
    assert.deepEqual(idsOf(restored.revokedSince), [doomed.publicId])
    await engine.close()
    const accounts = await openPlace(fresh)
    const later = createMoneyWorld(accounts, world)
    assert.deepEqual(await later.audit(), [])
    assert.equal(await balanceOf(accounts, key), 4_500)
    await later.confirm()
    assert.equal(await balanceOf(accounts, key), 4_500, 'no payment is credited twice')
    await later.deposit({ payer: key.wallet, key, amount: 700n, tx })
    await later.confirm()
    assert.equal(await balanceOf(accounts, key), 5_200, 'the payer claims the same transfer again')
    await later.deposit({ payer: key.wallet, key, amount: 700n, tx })
    await later.confirm()
    assert.equal(await balanceOf(accounts, key), 5_200)
    assert.equal(await isAccepted(later, late), false)
    assert.equal(await isAccepted(later, doomed), true, 'as it was when it was backed up')
    const list = join(fresh.folder, 'restored.json')
    writeFileSync(list, JSON.stringify(restored))
    await resultOf((report) => runRevoke(contextOf(fresh), report, { publicIds: [], from: list }))
    assert.equal(await isAccepted(later, doomed), false)
    assert.deepEqual(await later.audit(), [])
    await accounts.close()
  })

const idsOf = (keys: readonly { readonly publicId: string }[]) => keys.map((each) => each.publicId)

test('keys that logs show as revoked since are revoked by the restore itself', async () => {
  const [place, fresh] = [await newPlace('SQLite'), await newPlace('SQLite')]
  const { world, engine, key, doomed } = await liveIn(place)
  const file = newFile()
  await backUp(place, file)
  const { changes } = world.access
  changes.length = 0
  const late = await world.mint()
  const next = await world.rotate(doomed)
  const log = join(folder, 'service.log')
  const lines = ['{"msg":"key torn']
  const output = new Writable({
    write: (text, _encoding, done) => done(void lines.push(String(text).trim())),
  })
  const logger = await openLogger({ level: 'info', format: 'json' }, output)
  logger.info('API listening')
  for (const change of changes) logger.info(change, `key ${change.kind}`)
  writeFileSync(log, lines.join('\n'))
  assert.ok(next !== undefined && !lines.join().includes(next.secret))
  const { publicId } = doomed
  const missing = await restore(fresh, file, {
    old: join(folder, 'lost'),
    log: [log],
    revokeAgain: true,
  })
  assert.ok(missing.said.some((each: string) => each.includes('the old accounts cannot be read')))
  assert.deepEqual(missing.keysSinceFrom, [log])
  assert.deepEqual(idsOf(missing.mintedSince), [late.publicId, next.publicId].sort())
  assert.deepEqual(idsOf(missing.revokedSince), [publicId])
  await engine.close()
  const accounts = await openPlace(fresh)
  const later = createMoneyWorld(accounts, world)
  assert.equal(await isAccepted(later, doomed), false)
  assert.equal(await isAccepted(later, key), true)
  assert.deepEqual(await later.audit(), [])
  await accounts.close()
})

test('a backup is one private file that is never overwritten, and a failed one leaves nothing', async () => {
  const place = await newPlace('SQLite')
  const { engine } = await liveIn(place)
  const file = newFile()
  await backUp(place, file)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(join(file, '..')), ['accounts.sqlite'])
  const bytes = readFileSync(file)
  await assert.rejects(async () => backUp(place, file), /exists already; a backup never overwrites/)
  assert.deepEqual(readFileSync(file), bytes)
  const named = await backUp(place, join(file, '..'))
  assert.ok(existsSync(named.file))
  await engine.close()
})

test('a damaged backup, another file and accounts in use are refused, and nothing is stored', async () => {
  const [place, fresh] = [await newPlace('SQLite'), await newPlace('SQLite')]
  const { engine } = await liveIn(place)
  await engine.close()
  const file = newFile()
  await backUp(place, file)
  await assert.rejects(restore(place, file), /have rows in "wallets"; restore into a new folder/)
  const damaged = new DatabaseSync(file)
  damaged.exec('drop trigger balances_stay; drop trigger balances_keep_their_account')
  damaged.exec('update balances set micro_usd = micro_usd + 1')
  damaged.close()
  await assert.rejects(restore(fresh, file), /is damaged: balances are not as they were written/)
  const other = join(folder, 'other')
  writeFileSync(other, 'not a database, though it is long enough to look like one')
  await assert.rejects(restore(fresh, other), /is not a backup made by "sexton backup"/)
  const target = await openPlace(fresh)
  await migrateStore(target, 'accounts')
  assert.deepEqual(await target.read(sql`select 1 from keys`), [])
  await target.close()
})

test('a restore that never hears of its commit finds out that it was made', async (t) => {
  const [place, fresh] = [await newPlace('SQLite'), await newPlace('PostgreSQL')]
  const { engine } = await liveIn(place)
  await engine.close()
  const file = newFile()
  await backUp(place, file)
  const target = await openPlace(fresh)
  await migrateStore(target, 'accounts')
  const proxy = await openCutAtCommit(fresh.url ?? '')
  t.after(() => Promise.all([proxy.close(), target.close()]))
  const context = contextOf({ ...fresh, url: proxy.url })
  const isLast = (done: number, total: number) => done === total && proxy.cutNext()
  const progress = {
    ...context.progress,
    update: (_: string, ...at: [number, number]) => void isLast(...at),
  }
  const options = { file, log: [], revokeAgain: false, despiteDifferences: false }
  const restored = await resultOf((report) => runRestore({ ...context, progress }, report, options))
  assert.equal(proxy.cuts(), 1)
  assert.deepEqual(restored.differences, [])
  assert.equal((await target.read(sql`select 1 from store_copies`)).length, 1)
})

test('accounts that fail their audit are backed up, and restored only on demand', async () => {
  const [place, fresh] = [await newPlace('SQLite'), await newPlace('SQLite')]
  const { engine, key } = await liveIn(place)
  await engine.write((tx) =>
    tx.run(
      sql`update balances set micro_usd = micro_usd + 1 where account = ${`key:${key.publicId}`}`,
    ),
  )
  const file = newFile()
  const made = await backUp(place, file)
  assert.deepEqual([made.code, made.differences.length], [1, 1])
  await assert.rejects(restore(fresh, file), /fail their audit.*--despite-differences/)
  const restored = await restore(fresh, file, { despiteDifferences: true })
  assert.equal(restored.differences.length, 1)
  await engine.close()
})

test('a backup into a folder that is not there writes nothing, so that a missing volume is noticed', async () => {
  const missing = join(folder, 'backups')
  const place = await newPlace('SQLite')
  await (await liveIn(place)).engine.close()
  await assert.rejects(backUp(place, missing), /no such folder: .*backups; make or mount it/)
  assert.equal(existsSync(missing), false)
})
