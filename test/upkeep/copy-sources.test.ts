import assert from 'node:assert/strict'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { accountsMigrations } from '#main/stores.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { runCommand } from '#test/run-command.ts'
import { copy, liveIn, openPlace, setUpPlaces, type TestPlace } from './copy-world.ts'

const { newFolder, newFile, newPlace } = setUpPlaces()

/** What 0.2.0 has not applied. */
const SINCE = [1203, 1204, 1205, 1206, 1207, 1303, 1304, 1305, 1500, 1600]

/** Accounts as a running older version has them open, with one claim and one revoked key. */
async function olderIn(place: TestPlace): Promise<Engine> {
  const engine = await openPlace(place)
  await engine.migrate(accountsMigrations.filter(({ id }) => !SINCE.includes(id)))
  await engine.write(async (tx) => {
    await tx.run(sql`insert into wallets (wallet, active_keys) values ('0xa', 0)`)
    await tx.run(sql`
      insert into keys (public_id, secret_digest, wallet, created_unix, revoked_unix)
      values ('00000001', 'digest', '0xa', 1, 2)`)
    await tx.run(sql`
      insert into claims (id, public_id, tx_hash, owner, payer_address, by_owner, trust, share,
        claimed_micro_usd, status, confirmations, created_unix, opened_unix, checked_ms)
      values ('claim', '00000001', '0x1', '0xa', '0xa', 1, 0, 0, 1, 'pending', 0, 1, 1, 1)`)
  })
  return engine
}

const statusOf = async (engine: Engine) =>
  (await engine.read(sql`select status from claims`)).map(({ status }) => status)

for (const kind of ['SQLite', 'PostgreSQL'] as const)
  test(`${kind}: a backup, --old and a refused move leave a running older version its tables, and the backup restores`, async () => {
    const [place, fresh, free] = [await newPlace(kind), await newPlace(kind), await newPlace(kind)]
    const engine = await olderIn(place)
    const file = newFile()
    const { isAudited } = await copy({ from: place.text, to: file })
    assert.equal(isAudited, false)
    // The rows above are fewer than an audit wants.
    const restoring = { from: file, to: fresh.text, old: place.text, despiteDifferences: true }
    const { keysSinceFrom } = await copy(restoring)
    assert.ok(keysSinceFrom.length > 0)
    await assert.rejects(copy({ from: place.text, to: free.text }), /in use by .*; stop it/)
    assert.deepEqual(await statusOf(engine), ['pending'])
    await engine.close()
    await assert.rejects(copy({ from: place.text, to: free.text }), /fail their audit/)
    const stopped = await openPlace(place)
    assert.deepEqual(await statusOf(stopped), ['pending'])
    await stopped.close()
    const accounts = await openPlace(fresh)
    assert.deepEqual(await accounts.read(sql`select id from claims`), [{ id: 'claim' }])
    await accounts.close()
    const moving = { from: place.text, to: free.text, despiteDifferences: true }
    assert.equal((await copy(moving)).earlier, false)
  })

test('a move needs both names and a new folder, and a refused one creates nothing', async () => {
  const place = await newPlace('SQLite')
  const { engine } = await liveIn(place)
  const backups = newFolder('backups')
  writeFileSync(join(backups, '2026-01-01.sqlite'), '')
  const unnamed = { from: place.text }
  const missing = join(newFolder('none'), 'new')
  await assert.rejects(copy({ ...unnamed, to: missing }), /in use by .*; stop it/)
  assert.equal(existsSync(missing), false)
  await engine.close()
  await assert.rejects(copy({ ...unnamed, to: backups }), /not empty.*ends in \.sqlite/)
  assert.deepEqual(readdirSync(backups), ['2026-01-01.sqlite'])
  await assert.rejects(copy(unnamed), /a move needs both --from and --to/)
  await assert.rejects(copy({ to: place.text }), /a move needs both --from and --to/)
})

test('a database URL without its slashes is refused, and its password is not shown', async () => {
  const flags = ['copy', '--from', newFolder('data'), '--to', 'postgres:sexton:hush@127.0.0.1/db']
  const { code, stdout, stderr } = await runCommand(flags)
  assert.equal(code, 2)
  assert.match(stderr, /must be a postgres:\/\//)
  assert.ok(!`${stdout}${stderr}`.includes('hush'))
})

for (const [what, row] of [
  ['closed by a move', sql`insert into migrations (id, name) values (9999, 'moved')`],
  ['of a newer version', sql`insert into migrations (id, name) values (1999, 'unknown')`],
] as const)
  test(`old accounts ${what} still say which keys were revoked`, async () => {
    const [place, fresh] = [await newPlace('SQLite'), await newPlace('SQLite')]
    const { world, engine, doomed } = await liveIn(place)
    const file = newFile()
    await copy({ from: place.text, to: file })
    await world.revoke(doomed)
    await engine.write((tx) => tx.run(row))
    await engine.close()
    const restored = await copy({ from: file, to: fresh.text, old: place.text })
    assert.deepEqual(
      restored.revokedSince.map(({ publicId }: { readonly publicId: string }) => publicId),
      [doomed.publicId],
    )
  })

test('a mistyped --old is refused before anything is restored', async () => {
  const [place, fresh] = [await newPlace('SQLite'), join(newFolder('none'), 'new')]
  await (await liveIn(place)).engine.close()
  const file = newFile()
  await copy({ from: place.text, to: file })
  const mistyped = { from: file, to: fresh, old: `${place.text}-typo` }
  await assert.rejects(copy(mistyped), /neither accounts.sqlite nor revocations.jsonl/)
  assert.equal(existsSync(fresh), false)
})

test('the instant of a restore is no earlier than the last message that the old accounts accepted', async () => {
  const [place, fresh] = [await newPlace('SQLite'), await newPlace('SQLite')]
  const { world, engine } = await liveIn(place)
  const file = newFile()
  await copy({ from: place.text, to: file })
  await world.mint()
  const [used] = await engine.read(sql`select max(used_unix) as newest from used_messages`)
  await engine.close()
  // The clock of this machine is behind.
  await copy({ from: file, to: fresh.text, old: place.text }, () => 0)
  const accounts = await openPlace(fresh)
  const [restore] = await accounts.read(sql`select created_unix from store_copies`)
  assert.equal(restore?.created_unix, used?.newest)
  await accounts.close()
})
