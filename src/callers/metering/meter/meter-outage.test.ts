import assert from 'node:assert/strict'
import { callerMigrations } from '#callers/keys/caller-migrations.ts'
import type { Caller } from '#domain/caller.ts'
import { chainInAccount } from '#ledger/account.ts'
import { ledgerChecks } from '#ledger/ledger-checks.ts'
import { ledgerMigrations } from '#ledger/ledger-migrations.ts'
import { post } from '#ledger/post.ts'
import { sleep } from '#lib/sleep.ts'
import { type Engine, StoreError } from '#store/engine.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { callerChecks } from '../caller-checks.ts'
import { MeteringUnavailable } from './admission.ts'
import { accountOf } from './decide-batch.ts'
import { createMeter } from './meter.ts'

const PRICE = 100n
const CALLER: Caller = {
  kind: 'anonymous',
  identity: 'ip:192.0.2.1',
  bucket: '192.0.2.1',
  tier: 'anonymous',
  dailyQuota: 3,
}

const onBoth = eachEngine(startPostgres, [...ledgerMigrations, ...callerMigrations])

type Fault = 'none' | 'before' | 'after'

/** A store whose connection breaks before a transaction starts, or when its commit is done. */
function breakable(engine: Engine) {
  const fault: { next: Fault } = { next: 'none' }
  async function meetFault<T>(write: () => Promise<T>): Promise<T> {
    const now = fault.next
    if (now === 'before') throw new StoreError('the connection is lost')
    const done = await write()
    if (now === 'after') throw new StoreError('the connection is lost at the commit')
    return done
  }
  const broken: Engine = {
    ...engine,
    write: (work) => meetFault(() => engine.write(work)),
  }
  return { engine: broken, fault }
}

async function fund(engine: Engine): Promise<void> {
  const postings = [
    { account: chainInAccount(8453), microUsd: -1_000n },
    { account: accountOf(CALLER), microUsd: 1_000n },
  ]
  const entry = { id: 'fund', kind: 'credit', reference: 'fund', createdUnix: 1, postings } as const
  await engine.write((tx) => post(tx, entry))
}

const meterOn = (engine: Engine, name = 'one') =>
  createMeter({ engine, clock: () => Date.UTC(2026, 10, 21, 12), pricePerCall: PRICE, name })

async function assertSound(engine: Engine): Promise<void> {
  for (const check of [...ledgerChecks, ...callerChecks])
    assert.deepEqual(await engine.snapshot(check.run), [], check.name)
}

for (const fault of ['before', 'after'] as const)
  onBoth(
    `a commit that stood is undone once, also when the store breaks ${fault} the undoing commit`,
    async ({ engine }) => {
      const store = breakable(engine)
      await fund(engine)
      const meter = meterOn(store.engine)
      for (let n = 0; n < 3; n += 1) await meter.admit(CALLER)
      store.fault.next = 'after'
      await assert.rejects(meter.admit(CALLER), MeteringUnavailable)
      store.fault.next = fault
      // Until it is undone, nothing else is charged.
      await assert.rejects(meter.admit(CALLER), MeteringUnavailable)
      store.fault.next = 'none'
      assert.equal((await meter.admit(CALLER)).kind, 'admitted')
      const rateLimit = await meter.rateLimit(CALLER)
      assert.deepEqual(
        [rateLimit.requestCount, rateLimit.overageCount, rateLimit.prepaidBalance],
        [4, 1, 900n],
      )
      await assertSound(engine)
    },
  )

/** Waits for what the meter does in the background. */
async function untilUsed(
  rateLimit: () => Promise<{ readonly requestCount: number }>,
  used: number,
): Promise<void> {
  for (let n = 0; n < 100 && (await rateLimit()).requestCount !== used; n += 1) await sleep(50)
}

for (const [fault, words] of [
  ['before', 'nothing was counted'],
  ['after', 'it was counted, and undone'],
] as const)
  onBoth(
    `a call that is refused because the store broke costs nothing: ${words}`,
    async ({ engine }) => {
      const store = breakable(engine)
      await fund(engine)
      const meter = meterOn(store.engine)
      for (let n = 0; n < 3; n += 1) await meter.admit(CALLER)
      for (let n = 0; n < 2; n += 1) {
        store.fault.next = fault
        await assert.rejects(meter.admit(CALLER), MeteringUnavailable)
        store.fault.next = 'none'
        assert.equal((await meterOn(engine, `other ${n}`).admit(CALLER)).kind, 'admitted')
        assert.equal((await meter.admit(CALLER)).kind, 'admitted')
      }
      await untilUsed(() => meter.rateLimit(CALLER), 7)
      const rateLimit = await meter.rateLimit(CALLER)
      assert.deepEqual(
        [rateLimit.requestCount, rateLimit.overageCount, rateLimit.prepaidBalance],
        [7, 4, 600n],
      )
      await assertSound(engine)
    },
  )

onBoth(
  'calls beyond the quota that were refused because the store broke do not shift what is undone',
  async ({ engine }) => {
    const store = breakable(engine)
    const meter = meterOn(store.engine)
    await meter.admit(CALLER)
    store.fault.next = 'after'
    const other: Caller = { ...CALLER, identity: 'ip:192.0.2.2', bucket: '192.0.2.2' }
    const lost = [CALLER, CALLER, other, CALLER, CALLER].map((each) => meter.admit(each))
    for (const each of lost) await assert.rejects(each, MeteringUnavailable)
    store.fault.next = 'none'
    await meter.admit(other)
    await untilUsed(() => meter.rateLimit(CALLER), 1)
    await untilUsed(() => meter.rateLimit(other), 1)
    assert.equal((await meter.rateLimit(CALLER)).requestCount, 1)
    assert.equal((await meter.rateLimit(other)).requestCount, 1)
    await assertSound(engine)
  },
)
