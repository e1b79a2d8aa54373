import assert from 'node:assert/strict'
import { bucketAccount, chainInAccount, post } from '#accounts/ledger/ledger.ts'
import { DAY_SECONDS } from '#base/time.ts'
import {
  assertSound,
  bearer,
  bodyOf,
  CHAIN_ID,
  codeOf,
  createHarness,
  HARNESS_MIGRATIONS,
  type Harness,
} from '#test/callers/callers-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'

const onBoth = eachEngine(startPostgres, HARNESS_MIGRATIONS)

interface Day {
  readonly date: string
  readonly requestCount: number
  readonly overageCount: number
  readonly spentUsd: number
  readonly complete: boolean
  readonly keys: readonly (Omit<Day, 'date' | 'complete' | 'keys'> & { publicId: string | null })[]
}

interface History {
  readonly identity: string
  readonly days: number
  readonly totals: Omit<Day, 'date' | 'complete' | 'keys'>
  readonly history: readonly Day[]
}

const ask = async (harness: Harness, secret?: string, query: Record<string, string> = {}) => {
  const headers = secret === undefined ? {} : bearer(secret).headers
  return harness.call('/api/usage/history', { headers, query })
}

const historyOf = async (harness: Harness, secret?: string, query = {}) =>
  bodyOf<History>(await ask(harness, secret, query))

const keysOf = (day: Day | undefined) =>
  Object.fromEntries((day?.keys ?? []).map((key) => [key.publicId, key.requestCount]))

onBoth('every call of a wallet stands on its day and with its key', async ({ engine }) => {
  const harness = createHarness(engine)
  const first = await harness.mint()
  const second = await harness.mint(first.wallet)
  await harness.admit(first.secret, 3)
  await harness.admit(second.secret, 2)
  harness.now.ms += DAY_SECONDS * 1000
  const third = await harness.rotate(first)
  await harness.fund(third.publicId, 1_000n)
  await harness.admit(second.secret, 6)
  await harness.admit(third.secret, 7)
  const body = await historyOf(harness, second.secret, { days: '3' })
  assert.equal(body.identity, `key:svc_${second.publicId}`)
  assert.deepEqual(
    body.history.map((day) => [day.date, day.requestCount, day.overageCount, day.spentUsd]),
    [
      ['2026-11-20', 0, 0, 0],
      ['2026-11-21', 5, 0, 0],
      ['2026-11-22', 13, 3, 0.0003],
    ],
  )
  assert.deepEqual(
    body.history.map((day) => day.complete),
    [true, true, false],
  )
  assert.deepEqual(keysOf(body.history[1]), { [first.publicId]: 3, [second.publicId]: 2 })
  assert.deepEqual(keysOf(body.history[2]), { [third.publicId]: 7, [second.publicId]: 6 })
  assert.deepEqual(body.totals, { requestCount: 18, overageCount: 3, spentUsd: 0.0003 })
  assert.deepEqual((await historyOf(harness, third.secret, { days: '3' })).history, body.history)
})

onBoth('without a key the address is told, and nothing of anybody else', async ({ engine }) => {
  const harness = createHarness(engine)
  const { secret } = await harness.mint()
  await harness.admit(secret, 2)
  await harness.admit(undefined, 4)
  const body = await historyOf(harness, undefined, { days: '1' })
  assert.equal(body.identity, 'ip:192.0.2.1')
  assert.deepEqual([body.history[0]?.requestCount, body.history[0]?.keys], [4, []])
  const long = await ask(harness, undefined, { days: '31' })
  assert.equal(codeOf(long), 'invalid_parameter')
  for (const days of ['0', '91', '1.5', 'x'])
    assert.equal(codeOf(await ask(harness, secret, { days })), 'invalid_parameter')
})

onBoth('a paid call is in the history at once, with a key and without', async (store) => {
  const { engine } = store
  const harness = createHarness(engine)
  const { secret, publicId } = await harness.mint()
  await harness.fund(publicId, 1_000n)
  await engine.write((tx) =>
    post(tx, {
      id: 'address',
      kind: 'credit',
      reference: 'address',
      createdUnix: 1,
      postings: [
        { account: chainInAccount(CHAIN_ID), microUsd: -1_000n },
        { account: bucketAccount('192.0.2.1'), microUsd: 1_000n },
      ],
    }),
  )
  await harness.admit(secret, 10 + 4)
  await harness.admit(undefined, 5 + 2)
  for (const [who, spent] of [
    [secret, 0.0004],
    [undefined, 0.0002],
  ] as const) {
    const { totals, history } = await historyOf(harness, who, { days: '1' })
    assert.deepEqual([totals.spentUsd, history[0]?.spentUsd], [spent, spent])
  }
  await assertSound(engine)
})

onBoth('a history as CSV has a row for each day and key', async ({ engine }) => {
  const harness = createHarness(engine)
  const first = await harness.mint()
  const second = await harness.mint(first.wallet)
  await harness.admit(first.secret, 2)
  await harness.admit(second.secret, 1)
  const outcome = await ask(harness, first.secret, { days: '2', format: 'csv' })
  assert.ok(outcome.kind === 'answer')
  assert.equal(outcome.contentType, 'text/csv; charset=utf-8')
  assert.deepEqual(String(outcome.body).trimEnd().split('\r\n'), [
    'date,dateUnix,publicId,requestCount,overageCount,spentUsd,complete',
    '2026-11-20,1795132800,,0,0,0,true',
    `2026-11-21,1795219200,${first.publicId},2,0,0,false`,
    `2026-11-21,1795219200,${second.publicId},1,0,0,false`,
  ])
})
