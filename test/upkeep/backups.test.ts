import assert from 'node:assert/strict'
import {
  appendFileSync,
  copyFileSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { isRefusal } from '#domain/refusal.ts'
import { readKeyNotes, watchKeys } from '#main/key-notes.ts'
import { openLogger } from '#main/logger.ts'
import { readSettings } from '#main/settings.ts'
import { migrateStore, openStores } from '#main/stores.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { bearer, bodyOf, codeOf } from '#test/callers/callers-harness.ts'
import { createMoneyWorld, type HeldKey, type MoneyWorld } from '#test/money/money-world.ts'
import { copy, liveIn, openPlace, PAIRS, setUpPlaces, type TestPlace } from './copy-world.ts'

const { newFolder, newFile, newPlace } = setUpPlaces()

async function isAccepted({ callers }: MoneyWorld, { secret }: HeldKey): Promise<boolean> {
  callers.now.ms += 1_000
  return !isRefusal(await callers.metering.identify(bearer(secret).headers, '192.0.2.1'))
}

async function quotaOf({ callers }: MoneyWorld, { secret }: HeldKey): Promise<unknown> {
  const usage = await callers.call('/api/usage', bearer(secret))
  return bodyOf<Record<string, unknown>>(usage).dailyQuota
}

async function limit({ callers }: MoneyWorld, { publicId, secret }: HeldKey): Promise<void> {
  const call = { path: { publicId }, method: 'POST', ...bearer(secret) } as const
  const outcome = await callers.call('/api/keys/{publicId}/limits', {
    ...call,
    body: { dailyPaidCalls: 7 },
  })
  assert.equal(codeOf(outcome), 200)
}

const balanceOf = async (engine: Engine, { publicId }: HeldKey) =>
  (await engine.read(sql`select micro_usd from balances where account = ${`key:${publicId}`}`))[0]
    ?.micro_usd

const idsOf = (keys: readonly { readonly publicId: string }[]) => keys.map((each) => each.publicId)

for (const [from, to] of PAIRS)
  test(`${from} to ${to}: after a loss every key and balance of the backup is back, revoked keys stay revoked, and later payments are found again once`, async () => {
    const [place, fresh] = [await newPlace(from), await newPlace(to)]
    const { world, engine, key, doomed } = await liveIn(place)
    const file = newFile()
    await copy({ from: place.text, to: file })
    const tx = await world.deposit({ payer: key.wallet, key, amount: 700n })
    await world.confirm()
    const late = await world.mint()
    await world.revoke(doomed)
    await limit(world, key)
    const clock = () => world.callers.now.ms
    const restored = await copy({ from: file, to: fresh.text, old: place.text }, clock)
    assert.deepEqual(idsOf(restored.mintedSince), [late.publicId])
    assert.deepEqual(idsOf(restored.revokedSince), [doomed.publicId])
    assert.deepEqual(idsOf(restored.limitedSince), [key.publicId])
    await engine.close()
    const accounts = await openPlace(fresh)
    const later = createMoneyWorld(accounts, world)
    assert.deepEqual(await later.audit(), [])
    assert.equal(await balanceOf(accounts, key), 4_500)
    await later.confirm()
    assert.equal(await balanceOf(accounts, key), 4_500, 'no payment is credited twice')
    for (const claimed of ['again', 'once more']) {
      await later.deposit({ payer: key.wallet, key, amount: 700n, tx })
      await later.confirm()
      assert.equal(await balanceOf(accounts, key), 5_200, claimed)
    }
    assert.equal(await isAccepted(later, late), false)
    assert.equal(await isAccepted(later, doomed), false)
    assert.equal(await quotaOf(later, key), 9_000)
    assert.deepEqual(await later.audit(), [])
    await accounts.close()
  })

test('keys that were revoked since a backup stay revoked although the old accounts cannot be read', async () => {
  const [place, fresh] = [await newPlace('SQLite'), await newPlace('SQLite')]
  const { world, engine, key, doomed } = await liveIn(place)
  const file = newFile()
  await copy({ from: place.text, to: file })
  const notes = join(place.folder, 'revocations.jsonl')
  // A line that a power loss cut off.
  appendFileSync(notes, '\n{"time":"2026-')
  await noteChanges(place, world, () => world.rotate(doomed))
  assert.equal(statSync(notes).mode & 0o777, 0o600)
  await engine.close()
  writeFileSync(join(place.folder, 'accounts.sqlite'), 'the disk is broken')
  const restored = await copy({ from: file, to: fresh.text, old: place.text })
  assert.ok(restored.said.some((each: string) => each.includes('old accounts cannot be read')))
  assert.deepEqual(idsOf(restored.revokedSince), [doomed.publicId])
  // Into the old folder, and later from the folder that was restored into.
  for (const folder of [place.folder, fresh.folder]) {
    for (const name of readdirSync(folder))
      if (name.startsWith('accounts')) rmSync(join(folder, name))
    const again = await copy({ from: file, to: folder })
    assert.deepEqual(idsOf(again.revokedSince), [doomed.publicId])
  }
  const accounts = await openPlace(fresh)
  const later = createMoneyWorld(accounts, world)
  assert.equal(await isAccepted(later, doomed), false)
  assert.equal(await isAccepted(later, key), true)
  assert.deepEqual(await later.audit(), [])
  await accounts.close()
})

/** As the service notes what its owners change. */
async function noteChanges(
  place: TestPlace,
  { callers }: MoneyWorld,
  work: () => Promise<unknown>,
) {
  const logger = await openLogger({ level: 'silent', format: 'json' }, process.stderr)
  const settings = { dataFolder: place.folder, accounts: { kind: 'sqlite' } } as const
  const watch = watchKeys({ settings, logger, clock: () => callers.now.ms })
  callers.changes.length = 0
  await work()
  for (const change of callers.changes) watch(change)
}

for (const kind of ['SQLite', 'PostgreSQL'] as const)
  test(`${kind}: a key stays revoked through later backups, moves and restores, whose accounts break`, async () => {
    const [place, second, third, fourth] = [
      await newPlace(kind),
      await newPlace('SQLite'),
      join(newFolder('data'), 'third'),
      await newPlace('SQLite'),
    ]
    const { world, engine, doomed } = await liveIn(place)
    const [first, later] = [newFile(), newFile()]
    await copy({ from: place.text, to: first })
    await world.revoke(doomed)
    await engine.close()
    await copy({ from: place.text, to: later })
    await copy({ from: later, to: second.text, old: place.text })
    await copy({ from: second.text, to: third })
    for (const folder of [second.folder, third]) {
      writeFileSync(join(folder, 'accounts.sqlite'), 'the disk is broken')
      const restored = await copy({ from: first, to: fourth.text, old: folder })
      assert.deepEqual(idsOf(restored.revokedSince), [doomed.publicId])
      for (const name of readdirSync(fourth.folder)) rmSync(join(fourth.folder, name))
    }
  })

test('a start notes revoked keys that were not noted, each once', async () => {
  const { folder, text } = await newPlace('SQLite')
  const { world, engine, doomed } = await liveIn({ folder, text, url: undefined })
  await world.revoke(doomed)
  await engine.close()
  for (const start of ['first', 'second']) {
    await (await openStores(readSettings({ SEXTON_DATA: folder }, { isTty: false }))).close()
    const noted = readKeyNotes(folder)?.notes.map(({ publicId }) => publicId) ?? []
    assert.equal(noted.filter((each) => each === doomed.publicId).length, 1, start)
  }
})

test('a restore that cannot read all notes of revocations says so, and ends with 1', async () => {
  const [place, fresh] = [await newPlace('SQLite'), await newPlace('SQLite')]
  await (await liveIn(place)).engine.close()
  const file = newFile()
  await copy({ from: place.text, to: file })
  writeFileSync(join(fresh.folder, 'revocations.jsonl'), '\n{"time":\n\n{"msg":"key revoked"}\n')
  const { code, said } = await copy({ from: file, to: fresh.text })
  assert.equal(code, 1)
  const pattern = /^2 lines of .*revocations.jsonl cannot be read: keys may be VALID AGAIN/
  assert.ok(said.some((each: string) => pattern.test(each)))
})

test('a restore without notes of revocations says that they are valid again', async () => {
  const [place, fresh] = [await newPlace('SQLite'), await newPlace('SQLite')]
  await (await liveIn(place)).engine.close()
  const file = newFile()
  await copy({ from: place.text, to: file })
  const { said, keysSinceFrom } = await copy({ from: file, to: fresh.text })
  assert.deepEqual(keysSinceFrom, [])
  assert.ok(said.some((each: string) => each.includes('VALID AGAIN')))
})

test('a message that minted a key mints no second one after a restore or a promotion, and rotates none', async () => {
  const [place, fresh] = [await newPlace('SQLite'), await newPlace('SQLite')]
  const { world, engine, key } = await liveIn(place)
  const file = newFile()
  await copy({ from: place.text, to: file })
  const { callers } = world
  // A wallet's clock may run a minute ahead.
  callers.now.ms += 60_000
  const minting = await callers.sign(key.wallet, 'mint')
  const named = { path: { publicId: key.publicId }, method: 'POST' } as const
  const rotating = await callers.sign(key.wallet, 'rotate', { key: key.publicId })
  callers.now.ms -= 60_000
  const mint = ({ callers: at }: MoneyWorld) => at.call('/api/keys', { body: minting })
  assert.equal(codeOf(await mint(world)), 201)
  await engine.close()
  await copy({ from: file, to: fresh.text }, () => callers.now.ms)
  const accounts = await openPlace(fresh)
  const later = createMoneyWorld(accounts, world)
  assert.equal(codeOf(await mint(later)), 'message_expired')
  const rotation = { ...named, body: rotating }
  const rotate = () => later.callers.call('/api/keys/{publicId}/rotate', rotation)
  assert.equal(codeOf(await rotate()), 'message_expired')
  later.callers.now.ms += 61_000
  assert.equal(codeOf(await mint(later)), 'message_expired')
  await later.mint(key.wallet)
  // What the docs on failover have the operator run.
  const nowUnix = Math.floor(later.callers.now.ms / 1_000)
  await accounts.write((tx) =>
    tx.run(sql`
        insert into store_copies (id, kind, origin, created_unix)
        values ('promotion', 'restore', 'promotion', ${nowUnix})`),
  )
  const body = await later.callers.sign(key.wallet, 'mint')
  assert.equal(codeOf(await later.callers.call('/api/keys', { body })), 'message_expired')
  await accounts.close()
})

test('a backup is one private file that is never overwritten or served, and a failed one leaves nothing', async () => {
  const place = await newPlace('SQLite')
  const { engine } = await liveIn(place)
  const file = newFile()
  await copy({ from: place.text, to: file })
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(join(file, '..')), ['accounts.sqlite'])
  const bytes = readFileSync(file)
  await assert.rejects(copy({ from: place.text, to: file }), /exists already; a backup never/)
  assert.deepEqual(readFileSync(file), bytes)
  const started = await newPlace('SQLite')
  copyFileSync(file, join(started.folder, 'accounts.sqlite'))
  const asStore = await openPlace(started)
  await assert.rejects(migrateStore(asStore, 'accounts'), /closed: a backup; fill an empty store/)
  await asStore.close()
  const missing = join(newFolder('volume'), 'not-mounted', 'today.sqlite')
  await assert.rejects(copy({ from: place.text, to: missing }), /no such folder: .*make or mount/)
  await engine.close()
})

test('a damaged backup, another file and accounts in use are refused, and nothing is stored', async () => {
  const [place, fresh] = [await newPlace('SQLite'), await newPlace('SQLite')]
  const { engine } = await liveIn(place)
  await engine.close()
  const file = newFile()
  await copy({ from: place.text, to: file })
  await assert.rejects(copy({ from: file, to: place.text }), /has rows in "wallets"; name a new/)
  const damaged = new DatabaseSync(file)
  damaged.exec('drop trigger balances_stay; drop trigger balances_keep_their_account')
  damaged.exec('update balances set micro_usd = micro_usd + 1')
  damaged.close()
  await assert.rejects(copy({ from: file, to: fresh.text }), /is damaged: balances are not as/)
  const other = join(newFolder('other'), 'file')
  writeFileSync(other, 'not a database, though it is long enough to look like one')
  await assert.rejects(copy({ from: other, to: fresh.text }), /is not a backup made by/)
  const target = await openPlace(fresh)
  await migrateStore(target, 'accounts')
  assert.deepEqual(await target.read(sql`select 1 from keys`), [])
  await target.close()
})

test('accounts that fail their audit are backed up, and restored only on demand', async () => {
  const [place, fresh] = [await newPlace('SQLite'), await newPlace('SQLite')]
  const { engine, key } = await liveIn(place)
  const account = `key:${key.publicId}`
  await engine.write((tx) =>
    tx.run(sql`update balances set micro_usd = micro_usd + 1 where account = ${account}`),
  )
  const file = newFile()
  const made = await copy({ from: place.text, to: file })
  assert.deepEqual([made.code, made.differences.length], [1, 1])
  const wanted = { from: file, to: fresh.text }
  await assert.rejects(copy(wanted), /fail their audit.*--despite-differences/)
  const restored = await copy({ ...wanted, despiteDifferences: true })
  assert.equal(restored.differences.length, 1)
  await engine.close()
})
