import assert from 'node:assert/strict'
import { keyAccount } from '#accounts/ledger/ledger.ts'
import { sleep } from '#base/async.ts'
import type { Caller } from '#base/caller.ts'
import { isRefusal } from '#base/refusal.ts'
import type { Engine } from '#db/engine.ts'
import { sql } from '#db/sql.ts'
import {
  audited,
  bearer,
  codeOf,
  HARNESS_MIGRATIONS,
  type Harness,
} from '#test/callers/callers-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'

const onPostgres = audited(eachEngine(startPostgres, HARNESS_MIGRATIONS, ['postgres']))

async function callerOf({ metering }: Harness, secret: string): Promise<Caller> {
  const caller = await metering.identify(bearer(secret).headers, '192.0.2.1')
  assert.ok(!isRefusal(caller))
  return caller
}

async function balances({ engine }: Harness): Promise<Record<string, unknown>> {
  const found = await engine.read(sql`
    select account, micro_usd from balances where account like 'key:%' and micro_usd <> 0`)
  return Object.fromEntries(found.map((row) => [String(row.account), row.micro_usd]))
}

/** Resolves when so many statements wait for a lock, or the work is done without waiting. */
async function untilWaiting(
  engine: Engine,
  waiting: number,
  work: Promise<unknown>,
): Promise<void> {
  const state = { isDone: false }
  const done = () => {
    state.isDone = true
  }
  work.then(done, done)
  for (let n = 0; n < 400 && !state.isDone; n += 1) {
    const [row] = await engine.read(sql`
      select count(distinct pid) as waiting from pg_locks join pg_stat_activity using (pid)
      where datname = current_database() and not granted`)
    if (Number(row?.waiting) >= waiting) return
    await sleep(25)
  }
}

onPostgres(
  'money that is moved to a key while that is rotated is not stranded',
  async (harness) => {
    const { engine } = harness
    const from = await harness.mint()
    const to = await harness.mint(from.wallet)
    await harness.fund(from.publicId, 500n)
    await harness.fund(to.publicId, 30n)
    const values = { key: from.publicId, to: to.publicId }
    const signed = await harness.sign(from.wallet, 'move-balance', values)
    const free = Promise.withResolvers<void>()
    const locked = Promise.withResolvers<void>()
    const holder = engine.write(async (tx) => {
      await tx.run(sql`
      update balances set micro_usd = micro_usd where account = ${keyAccount(from.publicId)}`)
      locked.resolve()
      await free.promise
    })
    await locked.promise
    const body = { ...signed, toPublicId: to.publicId }
    const path = { publicId: from.publicId }
    const moving = harness.call('/api/keys/{publicId}/move-balance', { path, body })
    await untilWaiting(engine, 1, moving)
    const rotating = harness.rotate(to)
    await untilWaiting(engine, 2, rotating)
    free.resolve()
    await holder
    assert.equal(codeOf(await moving), 200)
    const newest = await rotating
    assert.deepEqual(await balances(harness), { [keyAccount(newest.publicId)]: 530 })
  },
)

onPostgres(
  'limits that are set while a key is rotated hold for the key that replaces it',
  async (harness) => {
    const { engine } = harness
    const key = await harness.mint()
    await harness.fund(key.publicId, 1_000n)
    const free = Promise.withResolvers<void>()
    const locked = Promise.withResolvers<void>()
    const holder = engine.write(async (tx) => {
      // Without a new version of the row, waiters get it in the order in which they came.
      await tx.run(sql`select 1 from keys where public_id = ${key.publicId} for update`)
      locked.resolve()
      await free.promise
    })
    await locked.promise
    const path = { publicId: key.publicId }
    const call = { method: 'POST', path, ...bearer(key.secret) } as const
    const limiting = harness.call('/api/keys/{publicId}/limits', {
      ...call,
      body: { dailyCapUsd: 0 },
    })
    await untilWaiting(engine, 1, limiting)
    const rotating = harness.rotate(key)
    await untilWaiting(engine, 2, rotating)
    free.resolve()
    await holder
    assert.equal(codeOf(await limiting), 200)
    const newest = await callerOf(harness, (await rotating).secret)
    assert.ok(newest.kind === 'keyed')
    assert.equal(newest.limits?.dailyCapMicroUsd, 0n)
  },
)
