import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { readRevokedKeys } from '#accounts/keys/revoked-keys.ts'
import { accountsMigrations, migrateStore, openStore } from '#main/stores.ts'
import { listAllKeys, revokeKeys } from '#ops/cli/keys-command.ts'
import { createMoneyWorld } from '#test/money/money-world.ts'
import { startPostgres } from '#test/postgres.ts'
import { runCommand } from '#test/run-command.ts'
import { eachEngine } from '#test/store/each-engine.ts'

let folder: string
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'sexton-keys-'))
})
after(() => rmSync(folder, { recursive: true, force: true }))

const onBoth = eachEngine(startPostgres, accountsMigrations)
const SECOND = 1_000

onBoth(
  'a key that the operator revokes is refused by a running service within a second',
  async (store) => {
    const world = createMoneyWorld(store.engine)
    const key = await world.mint()
    const nowUnix = Math.floor(world.callers.now.ms / SECOND)
    assert.equal(await world.callers.isUsable(key.secret), true)
    const operator = store.replica()
    await operator.write((tx) => revokeKeys(tx, [key.publicId], nowUnix))
    world.callers.now.ms += SECOND
    assert.equal(await world.callers.isUsable(key.secret), false)
    const again = await operator.write((tx) => revokeKeys(tx, [key.publicId], nowUnix))
    assert.deepEqual(again, { revoked: [], before: [key.publicId] })
    assert.deepEqual(await world.audit(), [])
  },
)

onBoth('one unknown publicId revokes nothing', async ({ engine }) => {
  const world = createMoneyWorld(engine)
  const key = await world.mint()
  await assert.rejects(
    engine.write((tx) => revokeKeys(tx, [key.publicId, '00000000'], 1)),
    /no key has the publicId 00000000; nothing was revoked/,
  )
  assert.equal(await world.callers.isUsable(key.secret), true)
})

onBoth('the list shows owners, states and balances, and never a secret', async ({ engine }) => {
  const world = createMoneyWorld(engine)
  const key = await world.mint()
  await world.deposit({ payer: key.wallet, key, amount: 1_500_000n })
  await world.confirm()
  const other = await world.mint(key.wallet)
  const next = await world.rotate(other)
  const keys = await listAllKeys(engine, undefined)
  assert.equal(keys.length, 3)
  const shown = keys.find(({ publicId }) => publicId === key.publicId)
  assert.deepEqual([shown?.owner, shown?.balanceUsd], [key.wallet.address, '1.5'])
  const replaced = keys.find(({ publicId }) => publicId === other.publicId)
  assert.equal(replaced?.successor, next?.publicId)
  assert.notEqual(replaced?.revokedAt, null)
  assert.ok(!JSON.stringify(keys).includes(key.secret.slice(-32)))
  assert.deepEqual(await listAllKeys(engine, `0x${'1'.repeat(40)}`), [])
})

test('a revocation by command is noted beside the accounts, and nonsense is refused', async () => {
  const accounts = await openStore(folder, 'accounts', { kind: 'sqlite' })
  await migrateStore(accounts, 'accounts')
  const world = createMoneyWorld(accounts)
  const key = await world.mint()
  const run = (...flags: string[]) => runCommand(['keys', ...flags, '--data', folder, '--json'])
  assert.equal((await run('revoke', 'nonsense')).code, 2)
  const revoked = JSON.parse((await run('revoke', key.publicId)).stdout)
  assert.deepEqual(revoked, { revoked: [key.publicId], before: [] })
  assert.ok(readRevokedKeys(folder).includes(key.publicId))
  await accounts.close()
})
