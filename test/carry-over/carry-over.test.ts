import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { createMeter } from '#access/meter/meter.ts'
import { storeChecks } from '#audit/audit-accounts.ts'
import { ADDED, CARRIED, CarryOverError, carryOver } from '#carry-over/carry-over.ts'
import { type Origin, runCarryOver } from '#carry-over/run-carry-over.ts'
import type { Caller } from '#domain/caller.ts'
import { keyAccount } from '#ledger/account.ts'
import { startOfDay } from '#lib/time.ts'
import { lockFolder } from '#main/roles/lock-folder.ts'
import { readSettings } from '#main/settings.ts'
import { SettingsError } from '#main/settings-error.ts'
import { accountsMigrations, migrateStore } from '#main/stores.ts'
import type { Engine } from '#store/engine.ts'
import { openPostgres } from '#store/postgres/open-postgres.ts'
import { sql } from '#store/sql.ts'
import { buildSchema } from '#store/sqlite/built-schema.ts'
import { openSqlite } from '#store/sqlite/open-sqlite.ts'
import { createMoneyWorld } from '#test/money/money-world.ts'
import { startPostgres, type TestPostgres } from '#test/postgres.ts'
import { fillOld, oldPostgres, oldSqlite, payAsBefore } from './old-store.ts'

let postgres: TestPostgres
let folder: string
before(async () => {
  postgres = await startPostgres()
  folder = mkdtempSync(join(tmpdir(), 'sexton-carry-'))
})
after(async () => {
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
})

interface Stores {
  /** Of 0.1.0, empty. */
  readonly old: Engine
  /** Of this version, empty. */
  readonly model: Engine
  readonly target: Engine
}

const onBoth = (guarantee: string, work: (stores: Stores) => Promise<void>) => {
  test(`SQLite: ${guarantee}`, () => {
    const place = mkdtempSync(join(folder, 'stores-'))
    const open = (name: string) => openSqlite({ file: join(place, name), durability: 'full' })
    return onStores(work, {
      old: oldSqlite(join(place, 'old')),
      model: open('model'),
      target: open('target'),
    })
  })
  test(`PostgreSQL: ${guarantee}`, async () => {
    const open = async () =>
      openPostgres({ url: await postgres.createDatabase(), schema: 'accounts' })
    const old = await oldPostgres(await postgres.createDatabase())
    await onStores(work, { old, model: await open(), target: await open() })
  })
}

async function onStores(work: (stores: Stores) => Promise<void>, stores: Stores): Promise<void> {
  try {
    for (const each of [stores.model, stores.target]) await each.migrate(accountsMigrations)
    await work(stores)
  } finally {
    for (const each of Object.values(stores)) await each.close()
  }
}

/** Keys, payments, spend of closed and open days, a rotation and refunds; returns the key that pays. */
async function liveIn({ old, model }: Pick<Stores, 'old' | 'model'>) {
  const world = createMoneyWorld(model)
  const key = await world.mint()
  const other = await world.mint(key.wallet)
  await world.deposit({ payer: key.wallet, key, amount: 5_000n })
  await world.deposit({ payer: key.wallet, key: other, amount: 2_000n })
  await world.confirm()
  const [first] = await world.call(key, 15)
  if (first !== undefined) await world.undo([first])
  await world.rotate(other)
  await world.wait(40 * 3_600)
  await world.call(key, 12)
  await world.call(undefined, 4)
  await fillOld(old, model)
  const clock = () => world.access.now.ms
  const day = startOfDay(clock() / 1000)
  const account = keyAccount(key.publicId)
  const wallet = key.wallet.address.toLowerCase()
  await payAsBefore(old, { account, bucket: `wallet:${wallet}`, day, calls: 3 })
  const caller: Caller = {
    kind: 'keyed',
    identity: 'key',
    bucket: `wallet:${wallet}`,
    tier: 'free',
    dailyQuota: 10,
    publicId: key.publicId,
    wallet: `0x${wallet.slice(2)}`,
  }
  const figures = (engine: Engine) =>
    createMeter({ engine, clock, pricePerCall: 100n, name: 'figures' }).figures(caller)
  return { account, figures }
}

const rowsOf = (engine: Engine, text: string) =>
  engine.read({ kind: 'sql', parts: [text], values: [] })

onBoth('every balance, key and call of 0.1.0 is carried over', async (stores) => {
  const { old, model, target } = stores
  const { account, figures } = await liveIn(stores)
  const counts = await carryOver({ source: old, target, nowMs: Date.now() })
  for (const text of [
    'select account, micro_usd from balances order by account',
    'select * from postings order by entry_id, line',
    `select public_id, secret_digest, wallet, label, created_unix, revoked_unix, successor, is_first
      from keys order by public_id`,
    'select * from used_messages order by digest',
    'select id, account, micro_usd, settled from credits order by id',
    'select id, status, credited_micro_usd from claims order by id',
    'select day, receipt from refunds order by receipt',
    'select day, bucket, used, paid, returned, quota_most from usage_days order by day, bucket',
  ]) {
    const rows = await rowsOf(target, text)
    assert.ok(rows.length > 0, text)
    assert.deepEqual(rows, await rowsOf(old, text), text)
  }
  const [spend, before] = await Promise.all(
    [target, model].map((engine) =>
      engine.read(sql`
        select calls, micro_usd from spend_days where account = ${account} and closings = 0`),
    ),
  )
  assert.deepEqual(spend, [
    { calls: Number(before?.[0]?.calls) + 3, micro_usd: Number(before?.[0]?.micro_usd) + 300 },
  ])
  const [told, modelled] = [await figures(target), await figures(model)]
  assert.equal(told.requestCount, modelled.requestCount + 3)
  assert.equal(told.overageCount, modelled.overageCount + 3)
  assert.equal(told.prepaidBalance, modelled.prepaidBalance - 300n)
  assert.equal(counts.get('keys'), 3)
  for (const check of storeChecks(target.dialect))
    assert.deepEqual(await target.snapshot(check.run), [], check.name)
})

onBoth('a target with rows is refused, and a second time too', async (stores) => {
  await liveIn(stores)
  await assert.rejects(
    carryOver({ source: stores.old, target: stores.model, nowMs: Date.now() }),
    CarryOverError,
  )
  await carryOver({ source: stores.old, target: stores.target, nowMs: Date.now() })
  await assert.rejects(
    carryOver({ source: stores.old, target: stores.target, nowMs: Date.now() }),
    /has rows/,
  )
})

onBoth('accounts that break a promise are refused, and nothing is stored', async (stores) => {
  const { old, target } = stores
  const { account } = await liveIn(stores)
  await old.write((tx) =>
    tx.run(sql`update balances set micro_usd = micro_usd + 1 where account = ${account}`),
  )
  await assert.rejects(carryOver({ source: old, target, nowMs: Date.now() }), /sum of its postings/)
  assert.deepEqual(await rowsOf(target, 'select 1 from keys'), [])
})

onBoth(
  'a store of 0.1.0 is told what to do, and one of this version is no source',
  async (stores) => {
    await assert.rejects(
      migrateStore(stores.old, 'accounts'),
      (error) => error instanceof SettingsError && /sexton carry-over --from/.test(error.message),
    )
    await assert.rejects(
      carryOver({ source: stores.model, target: stores.target, nowMs: Date.now() }),
      CarryOverError,
    )
  },
)

test('every table of the accounts is carried over, but for leases', () => {
  const tables = [...buildSchema(accountsMigrations).columns.keys()]
  assert.deepEqual(
    tables.filter((table) => !['leases', ...ADDED].includes(table)).sort(),
    [...CARRIED].sort(),
  )
})

onBoth('a source that a service of 0.1.0 still writes is refused', async ({ old, target }) => {
  const setEnd = (nowMs: number) =>
    old.write((tx) =>
      tx.run(sql`
        insert into leases (name, holder, epoch, expires_at_ms) values ('verifier', 'one', 1, ${nowMs})
        on conflict (name) do update set expires_at_ms = excluded.expires_at_ms`),
    )
  const nowMs = Date.now()
  await setEnd(nowMs + 10_000)
  await assert.rejects(
    carryOver({ source: old, target, nowMs }),
    (error) => error instanceof CarryOverError && /still runs .* verifier/.test(error.message),
  )
  await setEnd(0)
  await carryOver({ source: old, target, nowMs })
})

/** Runs the command into a new folder; returns its code and what it said last. */
async function command(place: string, origin: Origin, environment: Record<string, string> = {}) {
  const settings = readSettings(
    { SEXTON_DATA: join(place, 'to'), ...environment },
    { isTty: false },
  )
  const said: string[] = []
  const say = (line: string) => void said.push(line)
  const code = await runCarryOver({ settings, say, clock: Date.now }, origin)
  return { code, said, last: said.at(-1) ?? '' }
}

/** A place with a data folder of 0.1.0 in `from`, which holds three keys. */
async function placeWithOld() {
  const place = mkdtempSync(join(folder, 'command-'))
  const from = join(place, 'from')
  mkdirSync(from)
  const old = oldSqlite(join(from, 'accounts.sqlite'))
  const model = openSqlite({ file: join(place, 'model'), durability: 'full' })
  await model.migrate(accountsMigrations)
  await liveIn({ old, model })
  await Promise.all([old.close(), model.close()])
  return { place, from }
}

test('the command fills a new folder, and refuses one whose refunds wait', async () => {
  const { place, from } = await placeWithOld()
  writeFileSync(join(from, 'refunds-one.journal'), 'one')
  const waiting = await command(place, { from, data: [] })
  assert.equal(waiting.code, 1)
  assert.match(waiting.last, /has pending refunds/)
  rmSync(join(from, 'refunds-one.journal'))
  const done = await command(place, { from, data: [] })
  assert.equal(done.code, 0)
  assert.match(done.said.join('\n'), /3 rows of keys/)
  assert.ok(done.said.includes(`No pending refunds in ${from}`))
  const again = await command(place, { from, data: [] })
  assert.equal(again.code, 1)
  assert.match(again.last, /has rows/)
})

test('the command refuses a data folder that a service has locked', async () => {
  const { place, from } = await placeWithOld()
  const unlock = await lockFolder(from)
  const locked = await command(place, { from, data: [] })
  unlock()
  assert.equal(locked.code, 1)
  assert.ok(locked.last.includes(`a service still runs on ${from}; stop it`), locked.last)
  assert.equal((await command(place, { from, data: [] })).code, 0)
})

test('the command looks for waiting refunds in every data folder, and needs one with a URL', async () => {
  const place = mkdtempSync(join(folder, 'command-'))
  const url = await postgres.createDatabase()
  await (await oldPostgres(url)).close()
  const unnamed = await command(place, { from: url, data: [] })
  assert.match(unnamed.last, /--from-data is missing/)
  const missing = await command(place, { from: url, data: [join(place, 'typo')] })
  assert.ok(missing.last.includes(`no such folder: ${join(place, 'typo')}`), missing.last)
  const data = ['one', 'two'].map((name) => join(place, name))
  for (const each of data) mkdirSync(each)
  writeFileSync(join(place, 'two', 'refunds-one.journal'), 'one')
  const waiting = await command(place, { from: url, data })
  assert.ok(waiting.last.includes(`${data[1]} has pending refunds`), waiting.last)
  rmSync(join(place, 'two', 'refunds-one.journal'))
  assert.deepEqual([unnamed.code, missing.code, waiting.code], [1, 1, 1])
  assert.equal((await command(place, { from: url, data })).code, 0)
})

test('the command says what is wrong with a store, and shows no password', async () => {
  const { place, from } = await placeWithOld()
  const junk = join(place, 'junk')
  mkdirSync(junk)
  writeFileSync(join(junk, 'accounts.sqlite'), 'not a database, though it is long enough to look')
  const gone = 'postgres://sexton:hidden@127.0.0.1:1/none'
  const empty = await postgres.createDatabase()
  const inTarget = { SEXTON_ACCOUNTS_URL: gone }
  for (const [told, words] of [
    [await command(place, { from: junk, data: [] }), /--from: .*accounts\.sqlite/],
    [await command(place, { from: join(place, 'no'), data: [from] }), /no such file/],
    [await command(place, { from: place, data: [] }), /no such file: .*name the data folder/],
    [
      await command(place, { from: gone, data: [from] }),
      /the source .* name the data folder or URL/,
    ],
    [
      await command(place, { from: empty, data: [from] }),
      /the source .* name the data folder or URL/,
    ],
    [await command(place, { from: 'postgres://[', data: [from] }), /--from: the URL/],
    [await command(place, { from, data: [] }, inTarget), /new accounts store .* check SEXTON/],
  ] as const) {
    assert.equal(told.code, 1, told.last)
    assert.match(told.last, words)
    assert.doesNotMatch(told.last, /hidden/)
  }
})
