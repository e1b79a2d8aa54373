import assert from 'node:assert/strict'
import { SERVICE_NAME } from '#access/access-harness.ts'
import { registerMigrations } from '#datasets/datasets.ts'
import { eachEngine, onSqlite, unguarded } from '#ledger/each-engine.ts'
import type { Engine } from '#store/engine.ts'
import type { Guard } from '#store/guard.ts'
import { type Sql, sql } from '#store/sql.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { createMoneyWorld, type MoneyWorld } from '#test/money/money-world.ts'
import { startPostgres } from '#test/postgres.ts'
import { auditAccounts } from './audit-accounts.ts'
import { accountsGuards } from './audit-guards.ts'
import { accountsMigrations } from './stores.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)

/** A world in which money was paid, spent, moved and taken back. */
async function livedIn(engine: Engine): Promise<MoneyWorld & { readonly secret: string }> {
  const world = createMoneyWorld(engine)
  const key = await world.mint()
  const other = await world.mint(key.wallet)
  await world.deposit({ payer: key.wallet, key, amount: 2_000n })
  await world.deposit({ payer: (await world.mint()).wallet, key, amount: 50n })
  await world.confirm()
  const receipts = await world.call(key, 15)
  const last = receipts.at(-1)
  if (last !== undefined) await world.refund(last)
  await world.move(key, other)
  await world.deposit({ payer: key.wallet, key: other, amount: 3_000n })
  await world.confirm()
  await world.reorg(11, false)
  await world.wait(40 * 3_600)
  const newest = await world.rotate(other)
  return Object.assign(world, { secret: newest?.secret ?? '' })
}

onBoth('a store that was lived in breaks no promise', async ({ engine }) => {
  const world = await livedIn(engine)
  assert.deepEqual(await world.audit(), [])
})

const takeDown = ({ table, name }: Guard, dialect: Engine['dialect']) =>
  dialect === 'sqlite' ? `drop trigger ${name}` : `drop trigger ${name} on ${table}`

onBoth('the audit names every guard that was taken down', async ({ engine }) => {
  const world = await livedIn(engine)
  for (const guard of accountsGuards) {
    await run(engine, takeDown(guard, engine.dialect))
    const found = await world.audit()
    assert.ok(
      found.some((each) => each.includes(`not change: ${guard.name}:`)),
      guard.name,
    )
  }
})

onBoth('the audit names a guard that was switched off or hollowed out', async ({ engine }) => {
  const world = await livedIn(engine)
  if (engine.dialect === 'postgres')
    await run(engine, 'alter table postings disable trigger postings_stay')
  else {
    await run(engine, 'drop trigger postings_stay')
    await run(
      engine,
      'create trigger postings_stay before delete on postings when 1 = 0 begin select 1; end',
    )
  }
  assert.deepEqual(await world.audit(), [
    'the database guards every row that must not change: postings_stay: is switched off, changed or gone',
  ])
})

onBoth('the audit names each constraint that no longer stands', async ({ engine }) => {
  const world = await livedIn(engine)
  const tables = ['balances', 'spend_days', 'usage_days']
  const guards = accountsGuards.filter((guard) => tables.includes(guard.table))
  await unguarded(engine, { guards, tables }, async () => undefined)
  const found = (await world.audit()).filter((each) => each.includes('nothing enforces'))
  assert.equal(found.length, tables.length, found.join('\n'))
})

const HIDING_PLACES: readonly ((secret: string) => Sql)[] = [
  (secret) => sql`update keys set label = ${`old ${secret}`} where successor is null`,
  (secret) => sql`insert into meters (meter, batch, day) values (${secret}, 1, 0)`,
  (secret) => sql`insert into refunds (receipt, day) values (${`${secret}:1`}, 0)`,
]

for (const [index, hide] of HIDING_PLACES.entries())
  onBoth(`the audit finds a secret wherever it hides: ${index + 1}`, async ({ engine }) => {
    const world = await livedIn(engine)
    assert.notEqual(world.secret, '')
    await engine.write((tx) => tx.run(hide(world.secret)))
    const found = await world.audit()
    assert.equal(found.length, 1, found.join('\n'))
    assert.match(found[0] ?? '', /^no row holds a secret: (keys\.label|meters\.|refunds\.)/)
    assert.ok(!found[0]?.includes(world.secret), 'the secret itself is not told')
  })

function run(engine: Engine, text: string): Promise<unknown> {
  return engine.write((tx) => tx.run({ kind: 'sql', parts: [text], values: [] }))
}

/** The audit as it is run: two looks, with a pause in which the service goes on. */
async function auditTwice(engine: Engine, pause: () => Promise<unknown>) {
  const { payment, service } = localEcosystemAt({})
  const ecosystem = { payment, service: { ...service, name: SERVICE_NAME } }
  let found: readonly string[] = []
  await onSqlite(registerMigrations, async ({ engine: register }) => {
    found = await auditAccounts({
      ecosystem,
      stores: { accounts: engine, register },
      clock: Date.now,
      pause: async () => void (await pause()),
      note: () => undefined,
    })
  })
  return found
}

onBoth('only what a second look finds too is a difference', async ({ engine }) => {
  await livedIn(engine)
  const change = (by: number) => run(engine, `update wallets set active_keys = active_keys + ${by}`)
  await change(1)
  assert.deepEqual(await auditTwice(engine, () => change(-1)), [])
  await change(1)
  assert.ok((await auditTwice(engine, async () => undefined)).length > 0)
})

onBoth(
  'a wrong balance is named with its newer figures while its key goes on calling',
  async (store) => {
    const { engine } = store
    const world = createMoneyWorld(engine)
    const key = await world.mint()
    await world.deposit({ payer: key.wallet, key, amount: 5_000n })
    await world.confirm()
    await world.call(key, 11)
    const account = `key:${key.publicId}`
    await run(engine, `update balances set micro_usd = micro_usd + 7 where account = '${account}'`)
    const found = await auditTwice(engine, () => world.call(key, 1))
    const wrong = found.filter((each) => each.startsWith('a stored balance'))
    assert.deepEqual(wrong, [
      `a stored balance is the sum of its postings less the spend not yet posted: ${account}: expected 4800, found 4807`,
    ])
  },
)
