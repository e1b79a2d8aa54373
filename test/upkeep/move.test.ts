import assert from 'node:assert/strict'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { storeFile } from '#main/store-file.ts'
import { accountsMigrations, migrateStore, openStore } from '#main/stores.ts'
import type { Engine } from '#store/engine.ts'
import { openPostgres } from '#store/postgres/open-postgres.ts'
import { sql } from '#store/sql.ts'
import { MovingFile } from '#store/sqlite/moving-file.ts'
import { isLongVersion } from '#test/long-version.ts'
import { createMoneyWorld, type HeldKey, type MoneyWorld } from '#test/money/money-world.ts'
import { startPostgres, type TestPostgres } from '#test/postgres.ts'
import { ACCOUNT_TABLES, copiedAccounts, movedTables } from '#upkeep/copied-stores.ts'
import { proveTables, unequalTables } from '#upkeep/copy-tables.ts'
import { moveAccounts } from '#upkeep/move/move-accounts.ts'
import { placeOf } from '#upkeep/move/run-move.ts'
import { isFrozen, isWritable, type Moment, openWatch, passTime, runSexton } from './mover.ts'

let postgres: TestPostgres
let folder: string
/** Accounts with keys, money, spend and refunds, to be copied for each test. */
let model: string
before(async () => {
  postgres = await startPostgres()
  folder = mkdtempSync(join(tmpdir(), 'sexton-move-'))
  model = join(folder, 'model')
  const { engine } = await liveIn(model)
  await engine.close()
})
after(async () => {
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function liveIn(place: string): Promise<{ engine: Engine; world: MoneyWorld; key: HeldKey }> {
  mkdirSync(place)
  const engine = await openStore(place, 'accounts', { kind: 'sqlite' })
  await migrateStore(engine, 'accounts')
  const world = createMoneyWorld(engine)
  const key = await world.mint()
  const other = await world.mint(key.wallet)
  await world.deposit({ payer: key.wallet, key, amount: 5_000n })
  await world.confirm()
  const [first] = await world.call(key, 15)
  if (first !== undefined) await world.undo([first])
  await world.rotate(other)
  await world.wait(40 * 3_600)
  await world.call(key, 12)
  return { engine, world, key }
}

function freshFolder(): string {
  const place = mkdtempSync(join(folder, 'place-'))
  cpSync(model, place, { recursive: true })
  return place
}

const move = (place: string, url: string, onChild?: Parameters<typeof runSexton>[2]) =>
  runSexton(['move', '--data', place, '--to', url, '--json'], {}, onChild)

const openTarget = (url: string) => openPostgres({ url, schema: 'accounts' })

async function hasAccounts(url: string): Promise<boolean> {
  const target = openTarget(url)
  try {
    const [found] = await target.read(
      sql`select to_regclass('accounts.keys') is not null as is_there`,
    )
    if (found?.is_there !== true) return false
    return (await target.read(sql`select 1 from keys limit 1`)).length > 0
  } finally {
    await target.close()
  }
}

async function assertWhole(url: string): Promise<void> {
  const source = await openStore(model, 'accounts', { kind: 'sqlite' })
  const target = openTarget(url)
  const copied = {
    ...copiedAccounts,
    tables: ACCOUNT_TABLES.filter((table) => table !== 'store_copies'),
  }
  const [one, other] = await Promise.all(
    [source, target].map((engine) =>
      engine.snapshot((connection) => proveTables({ connection, dialect: engine.dialect }, copied)),
    ),
  )
  await Promise.all([source.close(), target.close()])
  assert.ok(one !== undefined && other !== undefined)
  assert.deepEqual(unequalTables(one, other), [])
}

const LAST = ['insert into store_copies', 'commit']
const MOMENTS: Readonly<Record<string, Moment & { readonly goesOn: boolean }>> = {
  'before it froze the old store': {
    after: ['pg_advisory_xact_lock'],
    is: 'asked',
    goesOn: true,
  },
  'when it began to copy': { after: ['insert into wallets'], is: 'asked', goesOn: true },
  'when all was copied': { after: ['analyze spend_days'], is: 'answered', goesOn: true },
  'when all was proven': { after: ['insert into store_copies'], is: 'asked', goesOn: true },
  'before the new store committed': { after: LAST, is: 'asked', goesOn: false },
  'after the new store committed': { after: LAST, is: 'answered', goesOn: false },
}

/** The others differ in when the old store thaws by itself. */
const SHORT = [
  'when all was proven',
  'before the new store committed',
  'after the new store committed',
]

for (const [when, moment] of Object.entries(MOMENTS).filter(
  ([name]) => isLongVersion || SHORT.includes(name),
))
  test(`a mover killed ${when} leaves one store in use, and a second one ends its work`, async () => {
    const place = freshFolder()
    const url = await postgres.createDatabase()
    let kill = () => undefined as unknown
    const watch = await openWatch(url, moment, () => kill())
    const { signal } = await move(place, watch.url, (child) => {
      kill = () => child.kill('SIGKILL')
    })
    await watch.close()
    assert.equal(signal, 'SIGKILL')
    passTime(place)
    const isOld = await isWritable(place)
    assert.equal(isOld, moment.goesOn)
    const isNew = await hasAccounts(url)
    assert.equal(isNew, moment === MOMENTS['after the new store committed'])
    // The port of the proxy is part of the place.
    const again = await runAgain(place, url, watch.url)
    assert.equal(again.code, 0, again.stderr)
    assert.equal(JSON.parse(again.stdout).moved, true)
    await assertWhole(url)
    assert.equal(await isWritable(place), false)
  })

/** Through a proxy at the same address. */
async function runAgain(place: string, url: string, through: string) {
  const watch = await openWatch(
    url,
    { after: ['nothing says this'], is: 'asked' },
    () => undefined,
    through,
  )
  try {
    return await move(place, watch.url)
  } finally {
    await watch.close()
  }
}

test('a mover that never hears of its commit finds out that it was made', async () => {
  const place = freshFolder()
  const url = await postgres.createDatabase()
  const watch = await openWatch(url, { after: LAST, is: 'answered' }, () => undefined)
  const moved = await move(place, watch.url)
  await watch.close()
  assert.equal(moved.code, 0, moved.stderr)
  await assertWhole(url)
})

test('a mover whose last commit never arrived undoes everything, and the old store goes on', async () => {
  const place = freshFolder()
  const url = await postgres.createDatabase()
  const watch = await openWatch(url, { after: LAST, is: 'asked' }, () => undefined)
  const failed = await move(place, watch.url)
  await watch.close()
  assert.equal(failed.code, 1)
  assert.match(JSON.parse(failed.stdout).error, /stay where they are/)
  assert.equal(await isWritable(place), true)
  assert.equal(await hasAccounts(url), false)
})

test('a start on moved accounts is refused with the place that has them, without its password', async () => {
  const place = freshFolder()
  const url = await postgres.createDatabase()
  const moved = await move(place, url)
  assert.equal(moved.code, 0, moved.stderr)
  const { host, pathname, password } = new URL(url)
  const refused = await runSexton(['start', '--data', place, '--port', '0'])
  assert.equal(refused.code, 2)
  assert.ok(refused.stderr.includes(`were moved to ${host}${pathname}; set SEXTON_DATABASE_URL`))
  assert.ok(!`${refused.stderr}${moved.stderr}${moved.stdout}`.includes(password))
  const again = await move(place, url)
  assert.deepEqual([again.code, JSON.parse(again.stdout).earlier], [0, true])
  const elsewhere = await move(place, await postgres.createDatabase())
  assert.equal(elsewhere.code, 1)
  assert.match(elsewhere.stderr, /were moved to/)
})

test('a cut-off move asks the database it went to, also where URLs differ in host or user only', () => {
  const urls = ['alice@db', 'bob@db', '/x?host=/one', '/x?host=/two', 'alice@db/x', 'alice@db:1/x']
  const places = urls.map((each) => placeOf(`postgres://${each}`))
  assert.deepEqual(new Set(places).size, urls.length, places.join(' '))
})

test('a database with accounts of its own is refused, and the old store is never frozen', async () => {
  const place = freshFolder()
  const url = await postgres.createDatabase()
  assert.equal((await move(freshFolder(), url)).code, 0)
  const refused = await move(place, url)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /have rows in "wallets"; name an empty database/)
  assert.equal(await isWritable(place), true)
})

test('what changes while the accounts are copied arrives too: new, changed and deleted rows', async () => {
  const place = join(folder, 'changing')
  const { engine, world, key } = await liveIn(place)
  const doomed = await world.mint()
  const url = await postgres.createDatabase()
  const target = openTarget(url)
  await target.migrate(accountsMigrations)
  const file = storeFile(place, 'accounts')
  const source = await MovingFile.open(file, movedTables())
  const reader = await openStore(place, 'accounts', { kind: 'sqlite' })
  let isFirst = true
  const { changedRows } = await moveAccounts({
    source,
    reader,
    target,
    clock: Date.now,
    move: { id: 'one', place: 'elsewhere' },
    frozenMsMax: 60_000,
    async onRows() {
      if (!isFirst) return
      isFirst = false
      await world.call(key, 9)
      await world.rotate(await world.mint(key.wallet))
      await world.revoke(doomed)
      await world.deposit({ payer: key.wallet, key, amount: 900n })
      await world.confirm()
      await world.reorg(3, true)
      // Usage, refunds and meters of the past are deleted.
      await world.wait(200 * 86_400)
    },
  })
  assert.ok(changedRows > 10)
  for (const table of ACCOUNT_TABLES) await source.connection.run(nameMovedTable(table))
  const tables = ACCOUNT_TABLES.filter((table) => table !== 'store_copies')
  const copied = { ...copiedAccounts, tables }
  const [there, here] = [
    await target.snapshot((connection) => proveTables({ connection, dialect: 'postgres' }, copied)),
    await proveTables({ connection: source.connection, dialect: 'sqlite' }, copied),
  ]
  assert.deepEqual(there, here)
  const later = createMoneyWorld(target, world)
  assert.deepEqual(await later.audit(), [])
  await source.close()
  await Promise.all([engine.close(), reader.close(), target.close()])
})

const nameMovedTable = (table: string) => ({
  kind: 'sql' as const,
  parts: [`create temp view ${table} as select * from moved_${table}`],
  values: [],
})

test('a change that went by unnoted voids the move', async () => {
  const place = freshFolder()
  const source = await MovingFile.open(storeFile(place, 'accounts'), movedTables())
  const mark = { id: 'one', place: 'elsewhere' }
  assert.equal(await source.watch(mark), true)
  passTime(place)
  assert.equal(await isWritable(place), true)
  await source.renew(mark)
  await assert.rejects(source.freeze(mark), /were written unnoticed/)
  const other = await MovingFile.open(storeFile(place, 'accounts'), movedTables())
  const next = { id: 'two', place: 'elsewhere' }
  passTime(place)
  assert.equal(await other.watch(next), true)
  await other.freeze(next)
  await other.handOver(next)
  await source.thaw(mark)
  assert.equal(await isWritable(place), false, 'a late mover undoes nothing of the next one')
  await assert.rejects(source.leave(mark), /another mover/)
  await other.thaw(next)
  await Promise.all([source.close(), other.close()])
  assert.equal(await isWritable(place), true)
})

test('the freeze of a mover that was killed ends in time, although the clock was set back an hour', async () => {
  const place = freshFolder()
  const source = await MovingFile.open(storeFile(place, 'accounts'), movedTables())
  const mark = { id: 'one', place: 'elsewhere' }
  assert.equal(await source.watch(mark), true)
  await source.freeze(mark)
  await source.close()
  const later = new DatabaseSync(storeFile(place, 'accounts'))
  later.exec(`update moving set watched_until_ms = watched_until_ms + 3600000,
    frozen_until_ms = frozen_until_ms + 3600000`)
  later.close()
  assert.equal(await isWritable(place), true)
  const other = await MovingFile.open(storeFile(place, 'accounts'), movedTables())
  assert.equal(await other.watch({ ...mark, id: 'two' }), true)
  await other.close()
})

test('a write that slips in after a freeze ran out is never lost: the move is given up', async () => {
  const place = freshFolder()
  const source = await MovingFile.open(storeFile(place, 'accounts'), movedTables())
  const mark = { id: 'one', place: 'elsewhere' }
  assert.equal(await source.watch(mark), true)
  await source.freeze(mark)
  assert.equal(await isWritable(place), false)
  passTime(place)
  assert.equal(await isWritable(place), true)
  await source.renew(mark)
  await assert.rejects(source.handOver(mark), /were written unnoticed/)
  await source.thaw(mark)
  await source.close()
  assert.equal(await isWritable(place), true)
})

test('a target that stalls keeps callers out no longer than allowed', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const place = freshFolder()
  const target = openTarget(await postgres.createDatabase())
  await target.migrate(accountsMigrations)
  const source = await MovingFile.open(storeFile(place, 'accounts'), movedTables())
  const reader = await openStore(place, 'accounts', { kind: 'sqlite' })
  t.after(() => Promise.all([source.close(), reader.close(), target.close()]))
  const wasFrozen: boolean[] = []
  const moving = moveAccounts({
    source,
    reader,
    target,
    clock() {
      wasFrozen.push(isFrozen(place))
      if (wasFrozen.length === 1) return 1
      if (wasFrozen.length === 2) {
        passTime(place)
        t.mock.timers.tick(2_000)
      }
      return 5_000
    },
    move: { id: 'one', place: 'elsewhere' },
    frozenMsMax: 1_000,
  })
  await assert.rejects(moving, /calls were refused for 1 s/)
  assert.deepEqual([wasFrozen[1], wasFrozen.at(-1)], [true, false])
})
