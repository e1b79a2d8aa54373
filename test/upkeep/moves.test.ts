import assert from 'node:assert/strict'
import { test } from 'node:test'
import { migrateStore } from '#main/stores.ts'
import { ACCOUNT_TABLES, copiedAccounts, copiedRegister } from '#operations/copy/copied-stores.ts'
import { digestTables, unequalTables } from '#operations/copy/copy-tables.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { type Moment, openCutConnection } from '#test/cut-connection.ts'
import { createMoneyWorld } from '#test/money/money-world.ts'
import { copy, liveIn, openPlace, PAIRS, setUpPlaces, type TestPlace } from './copy-world.ts'
import { runSexton } from './run-sexton.ts'

const { newPlace } = setUpPlaces()

/** But for what the copy itself writes. */
const MOVED = {
  register: { ...copiedRegister(), except: 'feed' },
  accounts: { ...copiedAccounts, tables: ACCOUNT_TABLES, except: 'store_copies' },
} as const

async function digestsOf(place: TestPlace, name: 'register' | 'accounts') {
  const { except, tables, migrations } = MOVED[name]
  const copied = { tables: tables.filter((table) => table !== except), migrations }
  return onPlace(place, name, (engine) =>
    engine.snapshot((connection) => digestTables({ connection, dialect: engine.dialect }, copied)),
  )
}

async function onPlace<T>(
  place: TestPlace,
  name: 'register' | 'accounts',
  work: (engine: Engine) => Promise<T>,
): Promise<T> {
  const engine = await openPlace(place, name)
  return work(engine).finally(() => engine.close())
}

/** Rows of every kind of column, below a feed. */
function indexIn(place: TestPlace): Promise<void> {
  return onPlace(place, 'register', async (engine) => {
    await migrateStore(engine, 'register')
    await engine.write(async (tx) => {
      await tx.run(sql`insert into feed (name, epoch, last, pruned) values ('feed', 'first', 9, 1)`)
      for (let number = 1; number <= 3; number += 1)
        await tx.run(sql`
          insert into blocks (chain_id, number, hash, parent_hash, timestamp_unix)
          values (8453, ${number}, ${`0x${number}`}, '0x', ${number * 2})`)
    })
  })
}

const epochIn = (place: TestPlace) =>
  onPlace(place, 'register', async (engine) => (await engine.read(sql`select epoch from feed`))[0])

async function isWhole(from: TestPlace, to: TestPlace): Promise<boolean> {
  const [here, there] = [await digestsOf(from, 'accounts'), await digestsOf(to, 'accounts')]
  return unequalTables(here, there).length === 0
}

/** Whether a process may start on it. */
async function isOpen(place: TestPlace): Promise<boolean> {
  return onPlace(place, 'accounts', (engine) =>
    migrateStore(engine, 'accounts').then(
      () => true,
      () => false,
    ),
  )
}

for (const [from, to] of PAIRS)
  test(`${from} to ${to}: both stores move with equal digests, the audit finds nothing, and only the new ones start`, async () => {
    const [old, fresh] = [await newPlace(from), await newPlace(to)]
    const { world, engine, key } = await liveIn(old)
    await engine.close()
    await indexIn(old)
    const moved = await copy({ from: old.text, to: fresh.text })
    assert.deepEqual([moved.earlier, moved.differences], [false, []])
    assert.equal(moved.register.blocks.rows, 3)
    for (const name of ['register', 'accounts'] as const)
      assert.deepEqual(unequalTables(await digestsOf(old, name), await digestsOf(fresh, name)), [])
    assert.notDeepEqual(await epochIn(fresh), await epochIn(old))
    const password = fresh.url === undefined ? undefined : new URL(fresh.url).password
    await assert.rejects(
      onPlace(old, 'accounts', (engine) => migrateStore(engine, 'accounts')),
      ({ message }: Error) =>
        /accounts there are closed: moved to .*; start there/.test(message) &&
        (password === undefined || !message.includes(`${password}@`)),
    )
    await onPlace(fresh, 'accounts', async (accounts) => {
      await migrateStore(accounts, 'accounts')
      const later = createMoneyWorld(accounts, world)
      await later.call(key, 3)
      assert.deepEqual(await later.audit(), [])
    })
    const [again, elsewhere] = [{ from: old.text, to: fresh.text }, await newPlace(to)]
    assert.equal((await copy(again)).earlier, true)
    await assert.rejects(copy({ ...again, to: elsewhere.text }), /closed: moved to/)
  })

for (const kind of ['SQLite', 'PostgreSQL'] as const)
  test(`${kind}: a store that a process has open is neither moved nor filled`, async () => {
    const [used, free] = [await newPlace(kind), await newPlace(kind)]
    const { engine } = await liveIn(used)
    await assert.rejects(copy({ from: used.text, to: free.text }), /in use by .*; stop it/)
    await engine.close()
    await onPlace(free, 'accounts', async (serving) => {
      await migrateStore(serving, 'accounts')
      await serving.read(sql`select 1 from keys`)
      await assert.rejects(copy({ from: used.text, to: free.text }), /in use by .*; stop it/)
      assert.deepEqual(await serving.read(sql`select 1 from keys`), [])
    })
    assert.equal(await isOpen(used), true)
  })

test('a target with accounts of its own is refused, and the source stays open', async () => {
  const [old, full] = [await newPlace('SQLite'), await newPlace('SQLite')]
  for (const place of [old, full]) await (await liveIn(place)).engine.close()
  await assert.rejects(copy({ from: old.text, to: full.text }), /has rows in "wallets"/)
  assert.equal(await isOpen(old), true)
})

const LAST = ['insert into store_copies', 'commit']
const MOMENTS: Readonly<Record<string, Moment>> = {
  'before the new store committed': { after: LAST, is: 'asked' },
  'after the new store committed': { after: LAST, is: 'answered' },
}

for (const [when, moment] of Object.entries(MOMENTS))
  test(`a move killed ${when} leaves no two stores in use, and the same command ends it`, async () => {
    const [old, fresh] = [await newPlace('SQLite'), await newPlace('PostgreSQL')]
    await (await liveIn(old)).engine.close()
    let kill = () => undefined as unknown
    const watch = await openCutConnection(fresh.text, moment, () => kill())
    watch.arm()
    const flags = ['copy', '--from', old.text, '--to', watch.url]
    const { signal } = await runSexton(flags, {}, (child) => {
      kill = () => child.kill('SIGKILL')
    })
    assert.equal(signal, 'SIGKILL')
    assert.equal(await isOpen(old), false)
    const again = await copy({ from: old.text, to: watch.url })
    await watch.close()
    assert.equal(again.earlier, when === 'after the new store committed')
    assert.equal(await isWhole(old, fresh), true)
    assert.deepEqual([await isOpen(old), await isOpen(fresh)], [false, true])
  })
