import assert from 'node:assert/strict'
import { callerTables } from '#accounts/keys/caller-tables.ts'
import { chainInAccount } from '#accounts/ledger/account.ts'
import { ledgerChecks } from '#accounts/ledger/ledger-checks.ts'
import { ledgerTables } from '#accounts/ledger/ledger-tables.ts'
import { post } from '#accounts/ledger/post.ts'
import type { Caller } from '#domain/caller.ts'
import { type Engine, StoreError } from '#store/engine.ts'
import { firstSchema } from '#store/migrate.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { testContext } from '#test/test-context.ts'
import { callerChecks } from '../caller-checks.ts'
import { MeteringUnavailable } from './admission.ts'
import { accountOf } from './decide-batch.ts'
import { meterOf } from './meter.ts'

const PRICE = 100n
const CALLER: Caller = {
  kind: 'anonymous',
  identity: 'ip:192.0.2.1',
  bucket: '192.0.2.1',
  tier: 'anonymous',
  dailyQuota: 3,
}

const onBoth = eachEngine(
  startPostgres,
  firstSchema('accounts', [...ledgerTables, ...callerTables]),
)

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

const meterOn = (engine: Engine) =>
  meterOf(testContext({ accounts: engine, clock: () => Date.UTC(2026, 10, 21, 12) }))

async function assertSound(engine: Engine): Promise<void> {
  for (const check of [...ledgerChecks, ...callerChecks])
    assert.deepEqual(await engine.snapshot(check.run), [], check.name)
}

for (const [fault, cost, calls] of [
  ['before', 'costs nothing if nothing was committed', 5],
  ['after', 'stays charged if its commit stood', 6],
] as const)
  onBoth(`a call that is refused because the store broke ${cost}`, async ({ engine }) => {
    const store = breakable(engine)
    await fund(engine)
    const meter = meterOn(store.engine)
    for (let n = 0; n < 3; n += 1) await meter.admit(CALLER)
    store.fault.next = fault
    await assert.rejects(meter.admit(CALLER), MeteringUnavailable)
    store.fault.next = 'none'
    assert.equal((await meterOn(engine).admit(CALLER)).kind, 'admitted')
    assert.equal((await meter.admit(CALLER)).kind, 'admitted')
    const { requestCount, overageCount, prepaidBalance } = await meter.rateLimit(CALLER)
    assert.deepEqual([requestCount, overageCount], [calls, calls - 3])
    assert.equal(prepaidBalance, 1_000n - PRICE * BigInt(overageCount))
    await assertSound(engine)
  })
