import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { accountsMigrations, migrateStore } from '#main/stores.ts'
import { stateOfRegister, watchAccounts } from '#operations/health/store-state.ts'
import type { Engine } from '#store/engine.ts'
import { openPostgres } from '#store/postgres/open-postgres.ts'
import { sql } from '#store/sql.ts'
import { type DatabaseRole, makeDatabaseRole, runSql } from '#test/database-role.ts'
import { startPostgres, type TestPostgres } from '#test/postgres.ts'
import { grantsSql } from './grants-sql.ts'
import { missingRights } from './missing-rights.ts'
import { ROLES, type StoreName, WRITES } from './rights.ts'

const STORES = ['register', 'accounts'] as const

let server: TestPostgres
let url: string
before(async () => {
  server = await startPostgres()
  url = await server.createDatabase()
  for (const store of STORES) await open(url, store, (engine) => migrateStore(engine, store))
})
after(() => server.stop())

async function open<T>(
  place: string,
  schema: StoreName,
  work: (engine: Engine) => Promise<T>,
): Promise<T> {
  const engine = openPostgres({ url: place, schema })
  try {
    return await work(engine)
  } finally {
    await engine.close()
  }
}

for (const store of STORES)
  test(`every table and view of the ${store} has a line of rights, and no sequence needs one`, async () => {
    const found = await open(url, store, (engine) =>
      engine.read(sql`
        select relname from pg_class join pg_namespace on pg_namespace.oid = relnamespace
        where nspname = ${store} and relkind in ('r', 'p', 'v', 'm', 'S', 'f')`),
    )
    const names = new Set(found.map((row) => String(row.relname)))
    const withoutLine = [...names].filter((name) => WRITES[store][name] === undefined)
    assert.deepEqual(withoutLine, [], 'add them to WRITES in src/operations/grants/rights.ts')
    assert.deepEqual(
      Object.keys(WRITES[store]).filter((name) => !names.has(name)),
      [],
    )
  })

test('the owner of the tables lacks nothing', async () => {
  for (const store of STORES)
    await open(url, store, async (engine) => {
      for (const role of ROLES) assert.equal(await missingRights(engine, store, role), undefined)
    })
})

test('readiness names what a role lacks and how to grant it, and is ok after the printed grants', async () => {
  const limited: DatabaseRole = await makeDatabaseRole(url)
  const registerState = () =>
    open(limited.url, 'register', (engine) => stateOfRegister(engine, 'serve'))
  const accountsState = () =>
    open(limited.url, 'accounts', (engine) =>
      watchAccounts({ engine, migrations: accountsMigrations, clock: Date.now, role: 'serve' })(),
    )
  const fix = /run "sexton grants --role serve", and what it prints as the owner/
  assert.match(await registerState(), /^lacks rights \(usage on schema register; .* and \d+ more\)/)
  assert.match(await registerState(), fix)
  await runSql(url, grantsSql({ role: 'serve', databaseRole: limited.name }))
  assert.deepEqual([await registerState(), await accountsState()], ['ok', 'ok'])
  await runSql(url, `revoke insert on accounts.x402_sign_ins from "${limited.name}"`)
  assert.match(await accountsState(), /^lacks rights \(insert on accounts\.x402_sign_ins\)/)
  assert.match(await accountsState(), fix)
})

test('a start without rights says what to do', async () => {
  const { url: limited } = await makeDatabaseRole(url)
  await open(limited, 'register', (engine) =>
    assert.rejects(migrateStore(engine, 'register'), /permission denied.*"sexton grants" prints/),
  )
})

test('the printed grants may be repeated, and one store is enough for a database of its own', async () => {
  const { name } = await makeDatabaseRole(url)
  const text = grantsSql({ role: 'serve', databaseRole: name, store: 'accounts' })
  assert.ok(!text.includes('register'))
  for (let times = 0; times < 2; times += 1) await runSql(url, text)
})

test('an owner of the tables who may not create roles grants to one that exists', async () => {
  const fresh = await server.createDatabase()
  const owner = await makeDatabaseRole(fresh)
  const name = new URL(fresh).pathname.slice(1)
  await runSql(fresh, `grant create on database "${name}" to "${owner.name}"`)
  for (const store of STORES) await open(owner.url, store, (engine) => migrateStore(engine, store))
  const limited = await makeDatabaseRole(fresh)
  await runSql(owner.url, grantsSql({ role: 'serve', databaseRole: limited.name }))
  await open(limited.url, 'accounts', async (engine) => {
    assert.equal(await missingRights(engine, 'accounts', 'serve'), undefined)
  })
  await assert.rejects(
    runSql(owner.url, grantsSql({ role: 'serve', databaseRole: `${limited.name}_more` })),
    /permission denied to create role/,
  )
})
