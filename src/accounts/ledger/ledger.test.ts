import assert from 'node:assert/strict'
import { type LedgerDifference, ledgerChecks } from '#accounts/ledger/check.ts'
import {
  bucketAccount,
  chainInAccount,
  keyAccount,
  lockBalances,
  readBalances,
  receivableAccount,
} from '#accounts/ledger/ledger.ts'
import { startOfDay } from '#base/time.ts'
import { ConstraintError, type Engine } from '#db/engine.ts'
import { firstSchema } from '#db/migrate.ts'
import { type Sql, sql } from '#db/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine, unguarded } from '#test/store/each-engine.ts'
import { type Entry, post, spendCalls } from './ledger.ts'
import { ledgerGuards, ledgerTables } from './ledger-tables.ts'

const NOW = 1_795_000_000
const TODAY = startOfDay(NOW)
const KEY = keyAccount('0a1b2c3d')
const OTHER = keyAccount('ffffffff')
const CHAIN_IN = chainInAccount(8453)

const onBoth = eachEngine(startPostgres, firstSchema('accounts', ledgerTables))

function transfer(id: string, from: string, to: string, microUsd: bigint): Entry {
  const postings = [
    { account: from, microUsd: -microUsd },
    { account: to, microUsd },
  ]
  return { id, kind: 'move', reference: id, createdUnix: NOW, postings }
}

const postTo = (engine: Engine, entry: Entry) => engine.write((tx) => post(tx, entry))

const spend = (engine: Engine, calls: number, account = KEY) =>
  engine.write(async (tx) => {
    const input = { calls: new Map([[account, calls]]), pricePerCall: 100n, day: TODAY }
    return (await spendCalls(tx, input)).get(account)
  })

const balanceOf = (engine: Engine, account: string) =>
  engine.snapshot(async (reads) => (await readBalances(reads, [account])).get(account))

async function audit(engine: Engine): Promise<(LedgerDifference & { check: string })[]> {
  const found = []
  for (const check of ledgerChecks)
    for (const difference of await engine.snapshot(check.run))
      found.push({ check: check.name, ...difference })
  return found
}

onBoth('an entry moves the balances of all its accounts or of none', async ({ engine }) => {
  assert.equal(await postTo(engine, transfer('a', CHAIN_IN, KEY, 500n)), true)
  const bucket = bucketAccount('192.0.2.1')
  for (const entry of [
    transfer('b', KEY, OTHER, 501n),
    transfer('c', OTHER, KEY, 1n),
    transfer('d', OTHER, bucket, 5n),
  ])
    await assert.rejects(postTo(engine, entry), /holds less/)
  assert.equal(await balanceOf(engine, KEY), 500n)
  assert.equal(await balanceOf(engine, OTHER), undefined)
  assert.equal(await balanceOf(engine, bucket), undefined)
  assert.equal(await balanceOf(engine, CHAIN_IN), -500n)
  assert.deepEqual(await audit(engine), [])
})

onBoth('posting an entry twice is posting it once, also at the same time', async (store) => {
  const { engine } = store
  const outcomes = await Promise.all(
    [engine, store.replica(), engine, store.replica()].map((each) =>
      postTo(each, transfer('once', CHAIN_IN, KEY, 700n)),
    ),
  )
  assert.deepEqual(outcomes.sort(), [false, false, false, true])
  assert.equal(await balanceOf(engine, KEY), 700n)
  await assert.rejects(postTo(engine, transfer('once', CHAIN_IN, KEY, 701n)), /another entry/)
  assert.deepEqual(await audit(engine), [])
})

onBoth('an entry that does not sum to zero is never posted', async ({ engine }) => {
  const crooked: Entry = {
    ...transfer('x', CHAIN_IN, KEY, 1n),
    postings: [
      { account: CHAIN_IN, microUsd: -1n },
      { account: KEY, microUsd: 2n },
    ],
  }
  await assert.rejects(postTo(engine, crooked), /sum to 1/)
})

onBoth('two moves against one another never deadlock', async (store) => {
  const { engine } = store
  await postTo(engine, transfer('a', CHAIN_IN, KEY, 1_000n))
  await postTo(engine, transfer('b', CHAIN_IN, OTHER, 1_000n))
  const replica = store.replica()
  await Promise.all(
    Array.from({ length: 40 }, (_, n) =>
      n % 2 === 0
        ? postTo(engine, transfer(`m${n}`, KEY, OTHER, 10n))
        : postTo(replica, transfer(`m${n}`, OTHER, KEY, 10n)),
    ),
  )
  assert.equal(await balanceOf(engine, KEY), 1_000n)
  assert.equal(await balanceOf(engine, OTHER), 1_000n)
})

onBoth('the database itself refuses what would falsify the ledger', async ({ engine }) => {
  await postTo(engine, transfer('a', CHAIN_IN, KEY, 500n))
  await spend(engine, 2)
  for (const change of [
    sql`update postings set micro_usd = 1 where line = 0`,
    sql`delete from postings where line = 0`,
    sql`update journal_entries set kind = 'other'`,
    sql`delete from journal_entries`,
    sql`insert into journal_entries (id, kind, reference, created_unix) values ('b', 'move', 'b', 1)`,
    sql`insert into postings (entry_id, line, account, micro_usd) values ('b', 0, ${KEY}, 1)`,
    sql`update balances set micro_usd = -1 where account = ${KEY}`,
    sql`update balances set micro_usd = 9007199254740992 where account = ${KEY}`,
    sql`update balances set account = ${OTHER} where account = ${KEY}`,
    sql`delete from balances`,
    sql`update spend_days set calls = calls - 1, micro_usd = micro_usd - price_micro_usd`,
    sql`update spend_days set calls = calls + 1`,
    sql`delete from spend_days`,
  ])
    await assert.rejects(
      engine.write((tx) => tx.run(change)),
      ConstraintError,
      change.parts[0],
    )
})

onBoth('the database refuses an entry whose postings do not sum to zero', async ({ engine }) => {
  const write = (amounts: readonly bigint[]) =>
    engine.write(async (tx) => {
      for (const [line, amount] of amounts.entries())
        await tx.run(sql`
          insert into postings (entry_id, line, account, micro_usd)
          values ('x', ${line}, ${KEY}, ${amount})`)
      await tx.run(sql`
        insert into journal_entries (id, kind, reference, created_unix)
        values ('x', 'move', 'x', 1)`)
    })
  await assert.rejects(write([-1n, 2n]), ConstraintError)
  await assert.rejects(write([1n]), ConstraintError)
  await assert.rejects(write([]), ConstraintError)
  await write([-1n, 1n])
  const added = sql`
    insert into postings (entry_id, line, account, micro_usd) values ('x', 2, ${KEY}, 5)
    returning line`
  assert.deepEqual(await engine.write((tx) => tx.run(added)), [], 'an entry is sealed')
})

onBoth('no entry can be replaced by another of its id', async ({ engine }) => {
  await postTo(engine, transfer('a', CHAIN_IN, KEY, 500n))
  const again = sql`insert into journal_entries (id, kind, reference, created_unix)
    values ('a', 'other', 'other', 1)`
  await engine.write((tx) => tx.run(again))
  if (engine.dialect === 'sqlite')
    await engine.write((tx) =>
      tx.run(sql`
        insert or replace into journal_entries (id, kind, reference, created_unix)
        values ('a', 'other', 'other', 1)`),
    )
  const [kept] = await engine.read(sql`select kind from journal_entries`)
  assert.equal(kept?.kind, 'move')
})

onBoth('spending stops at the last call that the balance holds', async ({ engine }) => {
  await postTo(engine, transfer('a', CHAIN_IN, KEY, 399n))
  assert.equal(await spend(engine, 2), 2)
  assert.equal(await spend(engine, 5), 1)
  assert.equal(await spend(engine, 1), 0)
  assert.equal(await balanceOf(engine, KEY), 99n)
  assert.deepEqual(await audit(engine), [])
})

onBoth('fifty spenders on two replicas share a balance of twenty calls', async (store) => {
  const { engine } = store
  const replica = store.replica()
  await postTo(engine, transfer('a', CHAIN_IN, KEY, 2_000n))
  const granted = await Promise.all(
    Array.from({ length: 50 }, (_, n) => spend(n % 2 === 0 ? engine : replica, 1)),
  )
  assert.equal(granted.filter((calls) => calls === 1).length, 20)
  assert.equal(await balanceOf(engine, KEY), 0n)
  assert.deepEqual(await audit(engine), [])
})

onBoth('a locked balance holds still until the transaction ends', async (store) => {
  const { engine } = store
  await postTo(engine, transfer('a', CHAIN_IN, KEY, 1_000n))
  const replica = store.replica()
  let spending: Promise<unknown> = Promise.resolve()
  const locked = await engine.write(async (tx) => {
    const balance = (await lockBalances(tx, [KEY])).get(KEY)
    if (engine.dialect === 'postgres') spending = spend(replica, 10)
    assert.equal((await readBalances(tx, [KEY])).get(KEY), balance)
    return balance
  })
  await spending
  assert.equal(locked, 1_000n)
  const owed = receivableAccount(KEY)
  assert.equal((await engine.write((tx) => lockBalances(tx, [owed]))).get(owed), 0n)
})

const TABLES = ['postings', 'journal_entries', 'balances', 'spend_days']

const CORRUPTIONS: Record<string, Sql[]> = {
  'the postings of each entry sum to zero': [
    sql`update postings set micro_usd = micro_usd + 1 where entry_id = 'a' and line = 1`,
  ],
  'a stored balance is the sum of its postings less what its calls cost': [
    sql`update balances set micro_usd = micro_usd + 1 where account = ${KEY}`,
  ],
  'each account is of a known kind, on its side of zero': [
    sql`update balances set micro_usd = 1 where account = ${CHAIN_IN}`,
  ],
}

for (const check of ledgerChecks)
  onBoth(`the audit notices a broken promise: ${check.name}`, async ({ engine }) => {
    await postTo(engine, transfer('a', CHAIN_IN, KEY, 1_000n))
    await spend(engine, 3)
    assert.deepEqual(await audit(engine), [])
    await unguarded(engine, { guards: ledgerGuards, tables: TABLES }, async (tx) => {
      for (const statement of CORRUPTIONS[check.name] ?? []) await tx.run(statement)
    })
    const noticed = (await audit(engine)).map((difference) => difference.check)
    assert.ok(noticed.includes(check.name), noticed.join('; '))
  })
