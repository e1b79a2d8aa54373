import assert from 'node:assert/strict'
import { once } from 'node:events'
import { registerMigrations } from '#datasets/datasets.ts'
import { chainInAccount, keyAccount } from '#ledger/account.ts'
import { eachEngine, onSqlite } from '#ledger/each-engine.ts'
import { post } from '#ledger/post.ts'
import { spendCalls } from '#ledger/spend.ts'
import { DAY_SECONDS } from '#lib/time.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { startPostgres } from '#test/postgres.ts'
import { readSettings } from '../settings.ts'
import { accountsMigrations } from '../stores.ts'
import { runVerifyRole } from './verify-role.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)

const KEY = keyAccount('0a1b2c3d')
const NOON_MS = Date.UTC(2026, 10, 21, 12)

/** A day of three paid calls that ended long ago. */
async function leaveOpenDay(engine: Engine): Promise<void> {
  const postings = [
    { account: chainInAccount(8453), microUsd: -1_000n },
    { account: KEY, microUsd: 1_000n },
  ]
  await engine.write(async (tx) => {
    const entry = { id: 'credit:1', kind: 'credit' as const, reference: '1', createdUnix: 1 }
    await post(tx, { ...entry, postings })
    const calls = new Map([[KEY, 3]])
    await spendCalls(tx, {
      calls,
      pricePerCall: 100n,
      day: NOON_MS / 1000 - 12 * 3_600 - 2 * DAY_SECONDS,
    })
  })
}

onBoth(
  'a pass that always fails keeps no day open, and every failure is told',
  async ({ engine }) => {
    await leaveOpenDay(engine)
    await engine.write((tx) => tx.run(sql`alter table leases rename to gone`))
    await engine.write((tx) => tx.run(sql`alter table x402_intents rename to gone_too`))
    const stop = new AbortController()
    const told: unknown[] = []
    const error = (fields: { readonly err: unknown }) => {
      told.push(fields.err)
      stop.abort()
    }
    await onSqlite(registerMigrations, async ({ engine: register }) => {
      await runVerifyRole(
        {
          ecosystem: localEcosystemAt({}),
          stores: { register, accounts: engine },
          clock: () => NOON_MS,
          logger: { info: () => undefined, warn: () => undefined, error },
          settings: readSettings({}, { isTty: false }),
          onChange: () => undefined,
        },
        stop.signal,
      )
    })
    const entries = await engine.read(sql`select kind from journal_entries where kind = 'calls'`)
    assert.equal(entries.length, 1)
    assert.equal(told.length, 1)
    assert.ok(told[0] instanceof AggregateError)
    assert.equal(
      told[0].message,
      'a pass over the prepayments failed, forgetting x402 payments failed',
    )
  },
)

onBoth('of two verifiers one leads and one waits, until the first is stopped', async (store) => {
  const { engine } = store
  await onSqlite(registerMigrations, async ({ engine: register }) => {
    const silent = () => undefined
    const run = () => {
      const stopping = new AbortController()
      const rounds: boolean[] = []
      const news = new EventTarget()
      const role = {
        ecosystem: localEcosystemAt({}),
        stores: { register, accounts: engine },
        clock: Date.now,
        logger: { info: silent, warn: silent, error: silent },
        settings: readSettings({}, { isTty: false }),
        settles: false,
        onChange: silent,
        onRound(leads: boolean) {
          rounds.push(leads)
          news.dispatchEvent(new Event('round'))
        },
      }
      const ended = runVerifyRole(role, stopping.signal)
      return {
        newest: () => rounds.at(-1),
        round: () => once(news, 'round'),
        async stop() {
          stopping.abort()
          await ended
        },
      }
    }
    const first = run()
    await first.round()
    const second = run()
    await second.round()
    assert.deepEqual([first.newest(), second.newest()], [true, false])
    await first.stop()
    while (second.newest() === false) await second.round()
    await second.stop()
  })
})
