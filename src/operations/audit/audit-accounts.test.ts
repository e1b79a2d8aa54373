import assert from 'node:assert/strict'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import { accountsMigrations } from '#main/stores.ts'
import type { Engine } from '#store/engine.ts'
import { type Sql, sql } from '#store/sql.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { createMoneyWorld, type MoneyWorld } from '#test/money/money-world.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine, onSqlite, unguarded } from '#test/store/each-engine.ts'
import { auditAccounts } from './audit-accounts.ts'
import { guardSettingChecks } from './audit-schema.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)
/** Functions behind triggers and settings of roles are there only. */
const onPostgres = eachEngine(startPostgres, accountsMigrations, ['postgres'])

/** A world in which money was paid, spent, moved and taken back. */
async function livedIn(engine: Engine): Promise<MoneyWorld & { readonly secret: string }> {
  const world = createMoneyWorld(engine)
  const key = await world.mint()
  const other = await world.mint(key.wallet)
  await world.deposit({ payer: key.wallet, key, amount: 2_000n })
  await world.deposit({ payer: (await world.mint()).wallet, key, amount: 50n })
  await world.confirm()
  await world.call(key, 14)
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

interface StandingGuard {
  readonly table: string
  readonly name: string
  /** The statement that made it, on SQLite. */
  readonly text: string
}

async function guardsOf(engine: Engine): Promise<readonly StandingGuard[]> {
  const found = await engine.read(
    engine.dialect === 'sqlite'
      ? sql`select tbl_name, name, sql as text from sqlite_schema where type = 'trigger'`
      : sql`
          select relname as tbl_name, tgname as name, '' as text
          from pg_trigger join pg_class on pg_class.oid = tgrelid
          where not tgisinternal and relnamespace = cast(current_schema() as regnamespace)`,
  )
  return found.map(({ tbl_name, name, text }) => ({
    table: String(tbl_name),
    name: String(name),
    text: String(text),
  }))
}

const takeDown = ({ table, name }: StandingGuard, dialect: Engine['dialect']) =>
  dialect === 'sqlite' ? `drop trigger ${name}` : `drop trigger ${name} on ${table}`

onBoth('the audit names every guard that was taken down', async ({ engine }) => {
  const world = await livedIn(engine)
  const guards = await guardsOf(engine)
  assert.ok(guards.length > 20)
  for (const guard of guards) await run(engine, takeDown(guard, engine.dialect))
  const found = await world.audit()
  for (const { name } of guards) assert.ok(found.includes(lacking(name)), name)
})

/** What the audit says of a part of the schema. */
const lacking = (name: string) =>
  `tables, keys and guards are those of a new store: ${name}: changed, disabled or missing`

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
  assert.deepEqual(await world.audit(), [lacking('postings_stay')])
})

onBoth('the audit names each table whose constraints no longer stand', async ({ engine }) => {
  const world = await livedIn(engine)
  const tables = ['balances', 'spend_days', 'usage_days']
  const guards = (await guardsOf(engine)).filter((guard) => tables.includes(guard.table))
  await unguarded(engine, { guards, tables }, async () => undefined)
  const found = (await world.audit()).join('\n')
  for (const table of tables) assert.match(found, new RegExp(`a new store: ${table}: `))
})

onBoth('the audit names a constraint that holds nothing any more', async ({ engine }) => {
  const world = await livedIn(engine)
  const hollow = 'check (prepaid = 0 or micro_usd >= 0 or 1 = 1)'
  if (engine.dialect === 'postgres') {
    await run(engine, 'alter table balances drop constraint balances_check')
    await run(engine, `alter table balances add constraint balances_check ${hollow}`)
  } else {
    await run(
      engine,
      `create table hollow (account text primary key,
        prepaid smallint not null check (prepaid in (0, 1)), micro_usd bigint not null,
        granted_calls bigint not null default 0, ${hollow})`,
    )
    await run(engine, 'insert into hollow select * from balances')
    const guards = (await guardsOf(engine)).filter((guard) => guard.table === 'balances')
    for (const guard of guards) await run(engine, takeDown(guard, engine.dialect))
    await run(engine, 'drop table balances')
    await run(engine, 'alter table hollow rename to balances')
    for (const { text } of guards) await run(engine, text)
  }
  const found = await world.audit()
  assert.equal(found.length, 1, found.join('\n'))
  assert.match(found[0] ?? '', /a new store: balances: /)
})

onBoth('the audit names each unique key that was dropped', async ({ engine }) => {
  const world = await livedIn(engine)
  for (const name of ['credits_live', 'credits_live_log', 'keys_first'])
    await run(engine, `drop index ${name}`)
  assert.deepEqual((await world.audit()).sort(), [
    lacking('credits_live'),
    lacking('credits_live_log'),
    lacking('keys_first'),
  ])
})

const REFUSE_NOTHING = `create or replace function refuse_row() returns trigger language plpgsql as $$
  begin if tg_op = 'DELETE' then return old; end if; return new; end $$`

/** Ways to leave a guard's name standing and nothing behind it. */
const HOLLOWED: Record<string, { readonly does: readonly string[]; readonly names: string }> = {
  'a function that refuses nothing': { does: [REFUSE_NOTHING], names: 'postings_stay' },
  'a trigger on another table': {
    does: [
      'drop trigger keys_stay on keys',
      'create table decoy (x bigint)',
      `create trigger keys_stay before delete on decoy
        for each row execute function refuse_row()`,
    ],
    names: 'keys_stay',
  },
  'a condition that never holds': {
    does: [
      'drop trigger spend_days_only_grow on spend_days',
      `create trigger spend_days_only_grow before update on spend_days
        for each row when (1 = 0) execute function refuse_row()`,
    ],
    names: 'spend_days_only_grow',
  },
  'a trigger that looks too late': {
    does: [
      'drop trigger balances_keep_their_account on balances',
      `create trigger balances_keep_their_account after update of account, prepaid on balances
        for each row when (new.account <> old.account or new.prepaid <> old.prepaid)
        execute function refuse_row()`,
    ],
    names: 'balances_keep_their_account',
  },
  'a trigger of other columns': {
    does: [
      'drop trigger keys_stay_revoked on keys',
      `create trigger keys_stay_revoked before update of label on keys
        for each row when (old.revoked_unix is not null) execute function refuse_row()`,
    ],
    names: 'keys_stay_revoked',
  },
  'a table that may be emptied': {
    does: ['drop trigger postings_stay_truncate on postings'],
    names: 'postings_stay_truncate',
  },
}

for (const [what, { does, names }] of Object.entries(HOLLOWED))
  onPostgres(`the audit names a guard with nothing behind it: ${what}`, async ({ engine }) => {
    const world = await livedIn(engine)
    for (const statement of does) await run(engine, statement)
    const found = await world.audit()
    assert.ok(found.includes(lacking(names)), found.join('\n'))
  })

onPostgres(
  'the audit names a setting that switches all guards off',
  async ({ engine, replica }) => {
    await livedIn(engine)
    const [row] = await engine.read(sql`select current_database() as name`)
    await run(engine, `alter database ${row?.name} set session_replication_role = replica`)
    for (const [here, subjects] of [
      [engine, [`every role in ${row?.name}`]],
      [replica(), [`every role in ${row?.name}`, 'this session']],
    ] as const) {
      const [guardsAreOn] = guardSettingChecks('postgres')
      assert.ok(guardsAreOn !== undefined)
      const found = await here.snapshot(guardsAreOn.run)
      assert.deepEqual(
        found.map((each) => each.subject),
        subjects,
      )
    }
  },
)

const HIDING_PLACES: readonly ((secret: string) => Sql)[] = [
  (secret) => sql`update keys set label = ${`old ${secret}`} where successor is null`,
  (secret) => sql`insert into key_days (public_id, day, used) values (${secret}, 0, 0)`,
]

for (const [index, hide] of HIDING_PLACES.entries())
  onBoth(`the audit finds a secret wherever it hides: ${index + 1}`, async ({ engine }) => {
    const world = await livedIn(engine)
    assert.notEqual(world.secret, '')
    await engine.write((tx) => tx.run(hide(world.secret)))
    const found = await world.audit()
    assert.equal(found.length, 1, found.join('\n'))
    assert.match(found[0] ?? '', /^no row holds the secret of a key: (keys\.label|key_days\.)/)
    assert.ok(!found[0]?.includes(world.secret), 'the secret itself is not told')
  })

function run(engine: Engine, text: string): Promise<unknown> {
  return engine.write((tx) => tx.run({ kind: 'sql', parts: [text], values: [] }))
}

/** The audit as it is run: two looks, with a pause in which the service goes on. */
async function auditTwice(engine: Engine, pause: () => Promise<unknown>) {
  let found: readonly string[] = []
  await onSqlite(registerMigrations, async ({ engine: register }) => {
    found = await auditAccounts({
      ecosystem: localEcosystemAt({}),
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
      `a stored balance is the sum of its postings less what its calls cost: ${account}: expected 4800, found 4807`,
    ])
  },
)
