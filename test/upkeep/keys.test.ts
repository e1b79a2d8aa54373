import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { ZERO_ADDRESS } from '#domain/address.ts'
import { readRevokedKeys } from '#main/revoked-keys.ts'
import { readSettings } from '#main/settings.ts'
import { accountsMigrations, migrateStore, openStore } from '#main/stores.ts'
import { listAllKeys, type ShownKey } from '#operations/upkeep/keys/list-keys.ts'
import { revokeKeys } from '#operations/upkeep/keys/revoke-keys.ts'
import { runQuota } from '#operations/upkeep/keys/run-quota.ts'
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
const LOCAL = join(import.meta.dirname, '../../src/chains/ecosystem/ecosystems/local.ts')
const ALL = { owner: undefined, nowUnix: 0 }

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
  const keys = await listAllKeys(engine, ALL)
  assert.equal(keys.length, 3)
  const shown = keys.find(({ publicId }) => publicId === key.publicId)
  assert.deepEqual([shown?.owner, shown?.balanceUsd], [key.wallet.address, '1.5'])
  const replaced = keys.find(({ publicId }) => publicId === other.publicId)
  assert.equal(replaced?.successor, next?.publicId)
  assert.notEqual(replaced?.revokedAt, null)
  assert.ok(!JSON.stringify(keys).includes(key.secret.slice(-32)))
  assert.deepEqual(await listAllKeys(engine, { ...ALL, owner: `0x${'1'.repeat(40)}` }), [])
})

test('a repeated grant of one id gives once, and every refusal says what to do', async () => {
  const accounts = await openStore(folder, 'accounts', { kind: 'sqlite' })
  await migrateStore(accounts, 'accounts')
  const world = createMoneyWorld(accounts)
  const key = await world.mint()
  const run = (...flags: string[]) => runCommand(['keys', ...flags, '--data', folder, '--json'])
  const give = () => run('grant', key.publicId, '0.25', '--reason', 'an outage', '--id', 'ticket-1')
  const [first, second] = [await give(), await give()]
  assert.deepEqual([first.code, JSON.parse(first.stdout).outcome], [0, 'created'])
  assert.deepEqual([second.code, JSON.parse(second.stdout).outcome], [0, 'exists'])
  const [shown] = await listAllKeys(accounts, ALL)
  assert.deepEqual([shown?.balanceUsd, shown?.grantedUsd], ['0.25', '0.25'])
  const other = await run('grant', key.publicId, '1', '--reason', 'more', '--id', 'ticket-1')
  assert.equal(other.code, 1)
  assert.match(JSON.parse(other.stdout).error, /ticket-1 granted something else before/)
  assert.equal((await run('grant', key.publicId, '-1', '--reason', 'less')).code, 2)
  assert.equal((await run('revoke', 'nonsense')).code, 2)
  const revoked = JSON.parse((await run('revoke', key.publicId)).stdout)
  assert.deepEqual(revoked, { revoked: [key.publicId], before: [] })
  assert.ok(readRevokedKeys(folder).includes(key.publicId))
  assert.deepEqual(await world.audit(), [])
  await accounts.close()
})

test('a quota is granted by wallet or key, listed until it ends, and nonsense is refused with the reason', async () => {
  const data = mkdtempSync(join(folder, 'quota-'))
  const accounts = await openStore(data, 'accounts', { kind: 'sqlite' })
  await migrateStore(accounts, 'accounts')
  const world = createMoneyWorld(accounts)
  const key = await world.mint()
  const { address } = key.wallet
  const run = (...flags: string[]) =>
    runCommand(['keys', ...flags, '--data', data, '--ecosystem', LOCAL, '--json'])
  const quota = (who: string, ...flags: string[]) => run('quota', who, ...flags)
  const terms = ['--until', '2999-01-31', '--reason', 'a partner']
  const quotas = async () => {
    const { keys } = JSON.parse((await run('list')).stdout)
    return keys.map((each: ShownKey) => each.quota)
  }
  const granted = await quota(address, '100000', ...terms)
  assert.deepEqual([granted.code, JSON.parse(granted.stdout).wallet], [0, address])
  const shown = { until: '2999-01-31T00:00:00Z', reason: 'a partner' }
  assert.deepEqual(await quotas(), [{ dailyQuota: 100_000, ...shown }])
  await quota(key.publicId, '3000', ...terms)
  assert.deepEqual(await quotas(), [{ dailyQuota: 3_000, ...shown }])
  const nowUnix = Date.parse(shown.until) / SECOND
  assert.equal((await listAllKeys(accounts, { ...ALL, nowUnix }))[0]?.quota, null)
  const mistyped = await quota('somebody', '3000', ...terms)
  assert.deepEqual([mistyped.code, /must be an EVM address/.test(mistyped.stderr)], [2, true])
  const settings = readSettings({ SEXTON_DATA: data, SEXTON_ECOSYSTEM: LOCAL }, { isTty: false })
  const report = { say: () => assert.fail(), done: () => assert.fail() }
  const until = nowUnix
  const sound = { owner: { publicId: key.publicId }, calls: 3_000, until, reason: 'a partner' }
  for (const [reason, wrong] of [
    [/has passed/, { until: 1 }],
    [/2000 free calls a day.*grant more/, { calls: 2_000 }],
    [/name --until and --reason/, { reason: undefined }],
    [/no key has the publicId/, { owner: { publicId: '00000000' } }],
    [/has never minted a key/, { owner: { wallet: ZERO_ADDRESS } }],
    [/takes neither/, { calls: 'default' }],
  ] as const)
    await assert.rejects(
      async () => runQuota({ settings, clock: Date.now }, report, { ...sound, ...wrong }),
      reason,
    )
  assert.equal((await quota(address, 'default')).code, 0)
  assert.deepEqual(await quotas(), [null])
  await accounts.close()
})
