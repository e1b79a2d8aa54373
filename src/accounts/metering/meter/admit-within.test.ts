import assert from 'node:assert/strict'
import { bucketAccount, chainInAccount, readBalances } from '#accounts/ledger/account.ts'
import { post } from '#accounts/ledger/post.ts'
import { sleep } from '#base/async.ts'
import type { Engine } from '#db/engine.ts'
import { sql } from '#db/sql.ts'
import { HARNESS_MIGRATIONS } from '#test/callers/callers-harness.ts'
import { anonymous, fund } from '#test/callers/meter-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { testContext } from '#test/test-context.ts'
import { admitWithin, getMeter } from './meter.ts'

const onBoth = eachEngine(startPostgres, HARNESS_MIGRATIONS)

const clock = () => Date.UTC(2026, 10, 21)
/** All of its calls are paid. */
const PAYER = anonymous('192.0.2.1', 0)
const ACCOUNT = bucketAccount(PAYER.bucket)

/** Waits until somebody waits for a lock on PostgreSQL; SQLite lets one write after another. */
async function untilSomebodyWaits(engine: Engine): Promise<void> {
  while (engine.dialect === 'postgres') {
    const waiting = await engine.read(sql`
      select 1 as waits from pg_locks join pg_stat_activity using (pid)
      where datname = current_database() and not granted
        and locktype in ('transactionid', 'tuple')`)
    if (waiting.length > 0) return
    await sleep(5)
  }
}

onBoth(
  "a day's first call pays for itself while others of its payer wait to be decided",
  async (store) => {
    const { engine } = store
    const meter = getMeter(testContext({ accounts: store.replica(), clock }))
    await fund(engine, PAYER, 1_000n)
    const postings = [
      { account: chainInAccount(8453), microUsd: -1_000n },
      { account: ACCOUNT, microUsd: 1_000n },
    ]
    const late = {
      id: 'late',
      kind: 'credit',
      reference: 'late',
      createdUnix: 1,
      postings,
    } as const
    let other: Promise<unknown> = Promise.resolve()
    const ctx = testContext({ clock })
    const admission = await engine.write((tx) =>
      admitWithin(ctx, tx, PAYER, async () => {
        await post(tx, late)
        other = meter.admit(PAYER)
        await untilSomebodyWaits(engine)
        return { key: null }
      }),
    )
    assert.equal(admission?.kind, 'admitted')
    assert.equal(((await other) as typeof admission)?.kind, 'admitted')
    const balances = await engine.snapshot((reads) => readBalances(reads, [ACCOUNT]))
    assert.equal(balances.get(ACCOUNT), 1_800n)
  },
)
