import assert from 'node:assert/strict'
import { eachEngine } from '#ledger/each-engine.ts'
import { accountsMigrations } from '#main/stores.ts'
import type { Engine } from '#store/engine.ts'
import { startPostgres } from '#test/postgres.ts'
import { NOON_UNIX, newIntent, word } from '../x402-harness.ts'
import { findIntent, insertIntent, openIntents, setIntentStatus } from './intent-store.ts'
import type { TransferOrder } from './settling-signer.ts'
import { createSubmitter } from './submit-intent.ts'
import { setSubmitted } from './transaction-store.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)
const NOW_MS = NOON_UNIX * 1000
const SETTLER = `0x${'55'.repeat(20)}` as const

/** A node that may fail to take what is sent, and a signer that shows the nonce it was given. */
function submitterOn(
  engine: Engine,
  more: {
    send?: () => Promise<void>
    gasGwei?: bigint
    clock?: () => number
    onCount?: () => void
  } = {},
) {
  const sent: string[] = []
  const submit = createSubmitter({
    engine,
    clock: more.clock ?? (() => NOW_MS),
    signer: {
      address: SETTLER,
      signTransfer: async ({ txNonce }: TransferOrder) => ({
        raw: `0x02${txNonce.toString(16).padStart(4, '0')}`,
        txHash: word(1_000 + txNonce),
      }),
    },
    gasPerDayGwei: more.gasGwei ?? 1_000_000n,
    report: () => undefined,
    rpc: {
      gasPrice: async () => ({ baseFee: 5_000_000n, tip: 1_000_000n }),
      transactionCount: async () => {
        more.onCount?.()
        return 4
      },
      send: async (raw: string) => {
        sent.push(raw)
        await more.send?.()
      },
    },
  })
  return { submit, sent }
}

onBoth('fifty payments on two replicas get fifty nonces without a gap', async (store) => {
  const one = submitterOn(store.engine)
  const two = submitterOn(store.replica())
  const intents = Array.from({ length: 50 }, (_, n) => newIntent(n))
  for (const intent of intents) await store.engine.write((tx) => insertIntent(tx, intent))
  await Promise.all(intents.map((intent, n) => (n % 2 === 0 ? one : two).submit(intent)))
  const open = await openIntents({ run: store.engine.read }, 100)
  const nonces = open.map((intent) => intent.txNonce ?? -1).sort((a, b) => a - b)
  assert.deepEqual(
    nonces,
    Array.from({ length: 50 }, (_, n) => n + 4),
  )
  assert.equal(one.sent.length + two.sent.length, 50)
})

onBoth(
  'a sending that fails keeps its nonce and its bytes, to be sent again',
  async ({ engine }) => {
    const failing = submitterOn(engine, { send: () => Promise.reject(new Error('no connection')) })
    const [first, second] = [newIntent(1), newIntent(2)]
    for (const intent of [first, second]) await engine.write((tx) => insertIntent(tx, intent))
    assert.equal((await failing.submit(first)).kind, 'submitted')
    assert.equal((await submitterOn(engine).submit(second)).kind, 'submitted')
    const open = await openIntents({ run: engine.read }, 10)
    assert.deepEqual(
      open.map(({ raw, txNonce }) => [raw, txNonce]),
      [
        ['0x020004', 4],
        ['0x020005', 5],
      ],
    )
  },
)

onBoth("nothing is signed beyond the day's gas", async ({ engine }) => {
  // 160,000 gas at 0.011 gwei are 1,760 gwei.
  const { submit, sent } = submitterOn(engine, { gasGwei: 3_600n })
  const kinds: string[] = []
  for (const n of [1, 2, 3]) {
    const intent = newIntent(n)
    await engine.write((tx) => insertIntent(tx, intent))
    kinds.push((await submit(intent)).kind)
  }
  assert.deepEqual(kinds, ['submitted', 'submitted', 'refused'])
  assert.equal(sent.length, 2)
})

onBoth('an authorization is reserved once, on whatever replica', async (store) => {
  const replica = store.replica()
  const won = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      (n % 2 === 0 ? store.engine : replica).write((tx) =>
        insertIntent(tx, { ...newIntent(1), id: `intent-${n}` }),
      ),
    ),
  )
  assert.equal(won.filter(Boolean).length, 1)
})

onBoth('an abandoned payment is never signed or opened again', async ({ engine }) => {
  const intent = newIntent(1)
  await engine.write((tx) => insertIntent(tx, intent))
  const { id } = intent
  await engine.write((tx) => setIntentStatus(tx, { id, from: 'reserved', to: 'abandoned' }))
  const { submit, sent } = submitterOn(engine)
  assert.equal((await submit(intent)).kind, 'refused')
  assert.deepEqual(sent, [])
  await assert.rejects(
    engine.write((tx) => setIntentStatus(tx, { id, from: 'abandoned', to: 'reserved' })),
  )
  const { chainId, asset, authorization } = intent
  const named = { chainId, asset, from: authorization.from, nonce: authorization.nonce }
  assert.equal((await findIntent({ run: engine.read }, named))?.status, 'abandoned')
})

onBoth('the lowest nonce that was left out is given out first', async ({ engine }) => {
  const { submit } = submitterOn(engine)
  for (const [n, txNonce] of [
    [1, 4],
    [2, 6],
  ] as const) {
    await engine.write((tx) => insertIntent(tx, newIntent(n)))
    const { id } = newIntent(n)
    const stored = { id, txHash: word(n), raw: '0x02', settler: SETTLER } as const
    await engine.write((tx) =>
      setSubmitted(tx, { ...stored, txNonce, reservedGwei: 0n, gasDay: 0 }),
    )
  }
  for (const n of [3, 4]) {
    await engine.write((tx) => insertIntent(tx, newIntent(n)))
    await submit(newIntent(n))
  }
  const open = await openIntents({ run: engine.read }, 10)
  assert.deepEqual(
    open.map(({ txNonce }) => txNonce),
    [4, 6, 5, 7],
  )
})

onBoth(
  'a payment that has ended keeps its nonce, also when a node lags behind',
  async ({ engine }) => {
    const { submit } = submitterOn(engine)
    const first = newIntent(1)
    await engine.write((tx) => insertIntent(tx, first))
    await submit(first)
    const ended = { id: first.id, from: 'submitted', to: 'failed' } as const
    await engine.write((tx) => setIntentStatus(tx, ended))
    await engine.write((tx) => insertIntent(tx, newIntent(2)))
    await submit(newIntent(2))
    const [second] = await openIntents({ run: engine.read }, 10)
    assert.equal(second?.txNonce, 5)
  },
)

onBoth('nothing is signed whose time has run out while it waited', async ({ engine }) => {
  const { submit, sent } = submitterOn(engine)
  const intent = newIntent(1)
  const authorization = { ...intent.authorization, validBefore: BigInt(NOW_MS / 1000 + 9) }
  const late = { ...intent, authorization }
  await engine.write((tx) => insertIntent(tx, late))
  assert.equal((await submit(late)).kind, 'refused')
  assert.deepEqual(sent, [])
})

onBoth(
  'what has waited for its turn for longer than a block is simulated again before it is signed',
  async ({ engine }) => {
    let nowMs = NOW_MS
    const { submit, sent } = submitterOn(engine, {
      clock: () => nowMs,
      onCount: () => {
        nowMs += 2_001
      },
    })
    const intent = newIntent(1)
    await engine.write((tx) => insertIntent(tx, intent))
    assert.equal((await submit(intent)).kind, 'late')
    assert.deepEqual(sent, [])
  },
)

onBoth(
  'a node that takes long to be sent to keeps no other payment waiting',
  async ({ engine }) => {
    const slow = Promise.withResolvers<void>()
    const { submit, sent } = submitterOn(engine, { send: () => slow.promise })
    const [first, second] = [newIntent(1), newIntent(2)]
    for (const intent of [first, second]) await engine.write((tx) => insertIntent(tx, intent))
    const both = [submit(first), submit(second)]
    while (sent.length < 2) await new Promise(setImmediate)
    slow.resolve()
    for (const outcome of await Promise.all(both)) assert.equal(outcome.kind, 'submitted')
  },
)
