import assert from 'node:assert/strict'
import { registerMigrations } from '#datasets/datasets.ts'
import { eachEngine } from '#ledger/each-engine.ts'
import { DAY_SECONDS } from '#lib/day.ts'
import { toStored } from '#lib/u256.ts'
import { rows, sql } from '#store/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { holderSpansMigration } from './tables.ts'

const earlier = registerMigrations.slice(0, registerMigrations.indexOf(holderSpansMigration))
const onEach = eachEngine(startPostgres, earlier)

const [stayed, left, cameBack, locked] = ['a', 'b', 'c', 'd'].map(
  (digit) => `0x${digit.repeat(40)}`,
)

/** Turning days as rows: whether it holds from that day on, one day after the other. */
const days = [
  ['GRAVE', stayed, 1, 3, 1],
  ['GRAVE', left, 1, 1, 1],
  ['GRAVE', left, 1, 4, 0],
  ['GRAVE', cameBack, 1, 0, 1],
  ['GRAVE', cameBack, 1, 2, 0],
  ['GRAVE', cameBack, 1, 5, 1],
  ['GRAVE', cameBack, 2, 2, 1],
  ['GRAVE', cameBack, 2, 3, 0],
  ['CRYPT', stayed, 1, 7, 1],
].map(([token, address, chainId, day, holds]) => [
  String(token),
  String(address),
  Number(chainId),
  Number(day) * DAY_SECONDS,
  Number(holds),
])

const balances = [
  ['CRYPT', stayed, 1],
  ['GRAVE', stayed, 1],
  ['GRAVE', cameBack, 1],
  ['GRAVE', locked, 1],
].map(([token, address, chainId]) => [
  String(token),
  String(address),
  Number(chainId),
  toStored(5n),
])

const inOrder = sql`order by token, address, chain_id, day_unix`

onEach('the turning days of an older register are the same in fewer rows', async ({ engine }) => {
  await engine.write(async (tx) => {
    await tx.run(sql`insert into holder_days (token, address, chain_id, day_unix, holds)
      values ${rows(days)}`)
    await tx.run(sql`insert into balances (token, address, chain_id, balance)
      values ${rows(balances)}`)
  })
  const before = await engine.read(
    sql`select token, address, chain_id, day_unix, holds from holder_days ${inOrder}`,
  )
  assert.equal(before.length, days.length)
  await engine.migrate(registerMigrations)
  const after = await engine.read(
    sql`select token, address, chain_id, day_unix, holds from holder_turns ${inOrder}`,
  )
  assert.deepEqual(after, before)
  await assert.rejects(engine.read(sql`select token from holder_days`))
  const since = await engine.read(sql`
    select since_unix from balances where token = 'GRAVE' order by address`)
  assert.deepEqual(
    since.map((row) => row.since_unix),
    [3 * DAY_SECONDS, 5 * DAY_SECONDS, null],
  )
})
