import assert from 'node:assert/strict'
import { accountsMigrations } from '#main/stores.ts'
import { ConstraintError, type Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { createMoneyWorld } from '#test/money/money-world.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { type Grant, postGrant } from './grant.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)

const grantOf = (publicId: string): Grant => ({
  id: 'ticket 17',
  publicId,
  microUsd: 3_000n,
  reason: 'an outage on our side',
  createdUnix: 1_800_000_000,
})
const give = (engine: Engine, grant: Grant) => engine.write((tx) => postGrant(tx, grant))

onBoth('a grant pays for calls like any money, and the audit agrees', async ({ engine }) => {
  const world = createMoneyWorld(engine)
  const key = await world.mint()
  assert.equal(await give(engine, grantOf(key.publicId)), 'created')
  // Ten free calls, then thirty at 100 micro-USD.
  assert.equal((await world.call(key, 50)).length, 40)
  await world.wait(40 * 3_600)
  assert.deepEqual(await world.audit(), [])
})

onBoth('one id gives once, also twice at a time, and nothing else later', async (store) => {
  const { engine } = store
  const { publicId } = await createMoneyWorld(engine).mint()
  const grant = grantOf(publicId)
  const both = await Promise.all([give(engine, grant), give(store.replica(), grant)])
  assert.deepEqual(both.sort(), ['created', 'exists'])
  assert.equal(await give(engine, { ...grant, microUsd: 1n }), 'conflict')
  const found = await engine.read(
    sql`select micro_usd from balances where account = ${`key:${publicId}`}`,
  )
  assert.deepEqual(found, [{ micro_usd: 3_000 }])
})

onBoth('a grant is shown nowhere as a deposit', async ({ engine }) => {
  const world = createMoneyWorld(engine)
  const key = await world.mint()
  await give(engine, grantOf(key.publicId))
  for (const table of ['claims', 'credits'] as const)
    assert.deepEqual(
      await engine.read({ kind: 'sql', parts: [`select * from ${table}`], values: [] }),
      [],
    )
  const kinds = await engine.read(sql`select kind, reference from journal_entries`)
  assert.deepEqual(kinds, [{ kind: 'grant', reference: key.publicId }])
})

onBoth('the database lets nobody change or remove a grant', async ({ engine }) => {
  const { publicId } = await createMoneyWorld(engine).mint()
  await give(engine, grantOf(publicId))
  for (const statement of [
    sql`update grants set reason = 'another'`,
    sql`delete from grants`,
    sql`insert into grants (id, public_id, micro_usd, reason, created_unix)
      values ('x', ${publicId}, 1, '', 0)`,
  ])
    await assert.rejects(
      engine.write((tx) => tx.run(statement)),
      ConstraintError,
    )
})
