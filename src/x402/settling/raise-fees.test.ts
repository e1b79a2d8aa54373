import assert from 'node:assert/strict'
import { deserialize } from 'ox/TxEnvelopeEip1559'
import type { Hash } from '#domain/address.ts'
import { eachEngine } from '#ledger/each-engine.ts'
import { accountsMigrations } from '#main/stores.ts'
import type { Engine } from '#store/engine.ts'
import { startPostgres } from '#test/postgres.ts'
import { ASSET, brokenPromises, CHAIN_ID, NOON_UNIX, newIntent, PAY_TO } from '../x402-harness.ts'
import { insertIntent, openIntents, setIntentStatus, settlesIntent } from './intent-store.ts'
import { keySigner } from './settling-signer.ts'
import { createSubmitter } from './submit-intent.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)
const NOW_MS = NOON_UNIX * 1000

/** Payments that are signed and sent while gas costs what the test says; none is ever sealed. */
function world(engine: Engine, gasPerDayGwei: bigint) {
  const sent: `0x${string}`[] = []
  const gas = { baseFee: 5_000_000n, tip: 1_000_000n }
  const time = { nowMs: NOW_MS }
  const submit = createSubmitter({
    engine,
    clock: () => time.nowMs,
    signer: keySigner({
      privateKey: `0x${'11'.repeat(32)}`,
      chainId: CHAIN_ID,
      asset: ASSET,
      recipients: [PAY_TO],
    }),
    gasPerDayGwei,
    report: (error) => assert.fail(String(error)),
    rpc: {
      gasPrice: async () => gas,
      transactionCount: async () => 4,
      send: async (raw) => void sent.push(raw),
    },
  })
  return {
    gas,
    time,
    sent,
    open: () => openIntents({ run: engine.read }, 10),
    async pay(n: number): Promise<string> {
      const intent = newIntent(n)
      await engine.write((tx) => insertIntent(tx, intent))
      return (await submit(intent)).kind
    },
    audit: () => brokenPromises(engine),
  }
}

const read = (raw: `0x${string}` | null | undefined) =>
  deserialize(`0x02${(raw ?? '0x02').slice(4)}`)

onBoth(
  'a transaction that gas became too dear for is sent anew with its nonce, for a tenth more at least',
  async ({ engine }) => {
    const { gas, pay, open, sent, audit } = world(engine, 1_000_000n)
    await pay(1)
    await pay(2)
    const before = await open()
    gas.baseFee = 12_000_000n
    assert.equal(await pay(3), 'submitted')
    const after = await open()
    const [old, raised] = [read(before[0]?.raw), read(after[0]?.raw)]
    assert.equal(old.nonce, 4n)
    assert.equal(raised.nonce, 4n)
    assert.equal(raised.data, old.data)
    assert.ok((raised.maxFeePerGas ?? 0n) * 10n >= (old.maxFeePerGas ?? 0n) * 11n)
    assert.ok((raised.maxPriorityFeePerGas ?? 0n) * 10n >= (old.maxPriorityFeePerGas ?? 0n) * 11n)
    assert.ok((raised.maxFeePerGas ?? 0n) >= 24_000_000n)
    assert.deepEqual(
      after.map((each) => each.txNonce),
      [4, 5, 6],
    )
    assert.equal(sent.length, 4)
    assert.equal(sent[2], after[0]?.raw)
    const hashes = [before[0]?.txHash, after[0]?.txHash]
    assert.notEqual(hashes[0], hashes[1])
    for (const txHash of hashes)
      assert.ok(await settlesIntent({ run: engine.read }, txHash as Hash), 'both are spoken for')
    assert.deepEqual(await audit(), [])
  },
)

onBoth('a transaction that can pay for gas as it is stays as it is', async ({ engine }) => {
  const { gas, pay, open, sent, audit } = world(engine, 1_000_000n)
  await pay(1)
  const [before] = await open()
  // Twice the base fee was allowed for.
  gas.baseFee = 9_000_000n
  await pay(2)
  assert.equal((await open())[0]?.raw, before?.raw)
  assert.equal(sent.length, 2)
  assert.deepEqual(await audit(), [])
})

onBoth('nothing is raised beyond the gas of the day', async ({ engine }) => {
  // 160,000 gas at 0.011 gwei are 1,760 gwei; at 0.025 gwei 4,000.
  const { gas, pay, open, sent, audit } = world(engine, 3_900n)
  await pay(1)
  const [before] = await open()
  gas.baseFee = 12_000_000n
  assert.equal(await pay(2), 'refused')
  assert.equal((await open())[0]?.raw, before?.raw)
  assert.equal(sent.length, 1)
  assert.deepEqual(await audit(), [])
})

onBoth('nothing is raised beyond the gas of the day after midnight either', async ({ engine }) => {
  const { gas, time, pay, open, sent, audit } = world(engine, 3_900n)
  await pay(1)
  const [before] = await open()
  time.nowMs += 86_400_000
  gas.baseFee = 12_000_000n
  assert.equal(await pay(2), 'refused')
  assert.equal((await open())[0]?.raw, before?.raw)
  assert.equal(sent.length, 1)
  assert.deepEqual(await audit(), [])
})

onBoth('what is raised after midnight counts for the new day', async ({ engine }) => {
  const { gas, time, pay, open, audit } = world(engine, 8_000n)
  await pay(1)
  time.nowMs += 86_400_000
  gas.baseFee = 12_000_000n
  // 4,000 gwei for each, of which the second finds no room.
  assert.equal(await pay(2), 'submitted')
  assert.equal(await pay(3), 'refused')
  assert.equal((await open())[0]?.gasDay, time.nowMs / 1000 - 43_200)
  assert.deepEqual(await audit(), [])
})

onBoth('a nonce is raised also when its payment has ended', async ({ engine }) => {
  const { gas, pay, open, sent, audit } = world(engine, 1_000_000n)
  await pay(1)
  const ended = { id: 'intent-1', from: 'submitted', to: 'failed' } as const
  await engine.write((tx) => setIntentStatus(tx, ended))
  gas.baseFee = 12_000_000n
  await pay(2)
  assert.equal(sent.length, 3)
  assert.equal(read(sent[1]).nonce, 4n)
  assert.equal((await open())[0]?.txNonce, 5)
  assert.deepEqual(await audit(), [])
})

onBoth('of many who meet a stuck transaction at once one raises it', async (store) => {
  const { engine } = store
  const [one, two] = [world(engine, 1_000_000n), world(store.replica(), 1_000_000n)]
  await one.pay(1)
  for (const { gas } of [one, two]) gas.baseFee = 12_000_000n
  await Promise.all([2, 3, 4, 5].map((n) => (n % 2 === 0 ? one : two).pay(n)))
  const open = await one.open()
  assert.deepEqual(open.map((each) => each.txNonce).sort(), [4, 5, 6, 7, 8])
  assert.equal(one.sent.length + two.sent.length, 6)
  assert.deepEqual(await one.audit(), [])
})
