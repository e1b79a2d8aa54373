import assert from 'node:assert/strict'
import { eachEngine } from '#ledger/each-engine.ts'
import { accountsMigrations } from '#main/stores.ts'
import { type Engine, StoreError } from '#store/engine.ts'
import { startPostgres } from '#test/postgres.ts'
import { word } from '../x402-harness.ts'
import { insertIntent } from './intent-store.ts'
import { payer, type SettlingHarness, settlingHarness } from './settling-harness.ts'
import { NodeRefusal } from './settling-rpc.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)
const PENDING = { kind: 'pending', transaction: null } as const

/** Gives way until so many transactions were sent to the node. */
async function untilSent({ chain }: SettlingHarness, count: number): Promise<void> {
  while (chain.sent.length < count) await new Promise(setImmediate)
}

onBoth(
  'a payment that is used, but not shown by what, is pending and never refused; it is credited once it is shown',
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, settle, finish, states, credits } = harness
    const authorization = authorize(1)
    chain.fund(authorization.from, 1_000_000n)
    chain.mine(1, [[{ kind: 'use', authorization }]])
    chain.hidesLogs = true
    assert.deepEqual(await settle(authorization), PENDING)
    await finish()
    assert.deepEqual(await states(), ['abandoned'])
    chain.hidesLogs = false
    chain.mine(3)
    await finish()
    assert.deepEqual(await states(), ['credited'])
    assert.deepEqual(await credits(), ['bucket:192.0.2.1'])
    assert.equal(chain.sent.length, 0)
  },
)

onBoth(
  'a payment whose simulation was refused by a node that is lost then is pending',
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, settle } = harness
    const { call } = chain.rpc
    Object.assign(chain.rpc, {
      call: (input: Parameters<typeof call>[0]) => {
        const answer = call(input)
        chain.isDown = true
        return answer
      },
    })
    assert.deepEqual(await settle(authorize(1)), PENDING)
  },
)

onBoth(
  'a refusal that the chain does not explain is asked about once more: a node may lag, a block may have come',
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, settle, states } = harness
    const { call } = chain.rpc
    let refusals = 1
    Object.assign(chain.rpc, {
      call: (input: Parameters<typeof call>[0]) => {
        if (input.from === undefined || refusals === 0) return call(input)
        refusals -= 1
        return Promise.reject(new NodeRefusal(3, 'execution reverted'))
      },
    })
    const first = authorize(1)
    chain.fund(first.from, 1_000_000n)
    const settling = settle(first)
    await untilSent(harness, 1)
    chain.mine()
    assert.equal((await settling).kind, 'settled')

    refusals = 2
    assert.deepEqual(await settle({ ...authorize(2), from: first.from }), {
      kind: 'rejected',
      reason: 'invalid_transaction_state',
    })
    assert.equal(refusals, 0)
    assert.equal(chain.sent.length, 1)
    assert.deepEqual(await states(), ['credited', 'abandoned'])
  },
)

onBoth(
  'a payment that the store could not give up at once is pending, and keeps no other of its payer out',
  async ({ engine }) => {
    let writes = 0
    const failing: Engine = {
      ...engine,
      write: (work, onCommitted) => {
        writes += 1
        // The first notes the payment, the second gives it up.
        if (writes === 2) return Promise.reject(new StoreError('the disk is full'))
        return engine.write(work, onCommitted)
      },
    }
    const { chain, authorize, settle, states } = settlingHarness(failing)
    const { call } = chain.rpc
    Object.assign(chain.rpc, {
      call: (input: Parameters<typeof call>[0]) =>
        input.from === undefined
          ? call(input)
          : Promise.reject(new NodeRefusal(3, 'execution reverted')),
    })
    const authorization = authorize(1)
    chain.fund(authorization.from, 1_000_000n)
    assert.deepEqual(await settle(authorization), PENDING)
    assert.deepEqual(await states(), ['abandoned'])
  },
)

onBoth(
  'one balance backs one payment at a time: the next is pending, untouched, and settles when it comes again',
  async (store) => {
    const harness = settlingHarness(store.engine)
    const replica = settlingHarness(store.replica(), { chain: harness.chain, ids: 'replica' })
    const { chain, authorize, states } = harness
    const first = authorize(1)
    const later = [2, 3, 4].map((n) => ({ ...authorize(n), from: first.from }))
    chain.fund(first.from, 1_000_000n)
    const leading = harness.settle(first)
    await untilSent(harness, 1)
    for (const authorization of later)
      assert.deepEqual(await replica.settle(authorization), PENDING)
    assert.equal(chain.sent.length, 1)
    chain.mine()
    assert.equal((await leading).kind, 'settled')
    assert.deepEqual(await states(), ['credited'])
    for (const [n, authorization] of later.entries()) {
      const settling = replica.settle(authorization)
      await untilSent(harness, n + 2)
      chain.mine()
      assert.equal((await settling).kind, 'settled')
    }
  },
)

onBoth('of many payments of one payer at the same moment one is sent', async (store) => {
  const harness = settlingHarness(store.engine)
  const replica = settlingHarness(store.replica(), { chain: harness.chain, ids: 'replica' })
  const { chain, authorize } = harness
  const from = payer(1)
  chain.fund(from, 100_000n)
  const all = Array.from({ length: 10 }, (_, n) =>
    (n % 2 === 0 ? harness : replica).settle({ ...authorize(n + 1), from }),
  )
  await untilSent(harness, 1)
  chain.mine()
  const kinds = (await Promise.all(all)).map(({ kind }) => kind).sort()
  assert.deepEqual(kinds, [...Array(9).fill('pending'), 'settled'])
  assert.equal(chain.sent.length, 1)
})

onBoth('before the settling wallet wait no more than nodes hold', async ({ engine }) => {
  const { chain, authorize, intentOf, settle, states } = settlingHarness(engine)
  for (let n = 1; n <= 64; n += 1)
    await engine.write((tx) => insertIntent(tx, intentOf(authorize(n), `intent-${word(n)}`)))
  chain.fund(payer(65), 1_000_000n)
  assert.deepEqual(await settle(authorize(65)), PENDING)
  assert.equal(chain.sent.length, 0)
  assert.equal((await states()).length, 64)
})
