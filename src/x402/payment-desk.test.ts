import assert from 'node:assert/strict'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { accessMigrations } from '#access/access-migrations.ts'
import { type EngineTest, eachEngine } from '#ledger/each-engine.ts'
import { ledgerMigrations } from '#ledger/ledger-migrations.ts'
import { paymentsMigrations } from '#payments/payments-migrations.ts'
import type { Engine } from '#store/engine.ts'
import { startPostgres } from '#test/postgres.ts'
import { toBase64 } from './offers/offer.ts'
import { isObject, readPayment } from './offers/payment-payload.ts'
import { PaymentDesk } from './payment-desk.ts'
import { insertIntent, setIntentStatus } from './settling/intent-store.ts'
import { ASSET, PAY_TO, settlingWorld } from './settling-world.ts'
import { x402Migrations } from './x402-migrations.ts'

const migrations = [
  ...ledgerMigrations,
  ...accessMigrations,
  ...paymentsMigrations,
  ...x402Migrations,
]
const onBoth: EngineTest = eachEngine(startPostgres, migrations)

/** The node is asked once for each look at the chain. */
function countingDesk(engine: Engine) {
  const { deps, settling, time } = settlingWorld(engine)
  const asked = { times: 0 }
  const rpc = {
    ...deps.rpc,
    header: (block: Parameters<typeof deps.rpc.header>[0]) => {
      asked.times += 1
      return deps.rpc.header(block)
    },
  }
  return { desk: new PaymentDesk({ ...settling, rpc }), asked, time }
}

/** A payment that was given up before it was sent, as the header that carries it. */
async function abandonedPayment(engine: Engine) {
  const scheme = new ExactEvmScheme(privateKeyToAccount(generatePrivateKey()))
  const accepted = {
    scheme: 'exact',
    network: 'eip155:8453',
    amount: '100000',
    asset: ASSET,
    payTo: PAY_TO,
    maxTimeoutSeconds: 300,
    extra: { name: 'USD Coin', version: '2' },
  } as const
  const signed = await scheme.createPaymentPayload(2, accepted)
  const payment = { x402Version: 2, accepted, payload: signed.payload }
  const payload = readPayment(headersOf(payment))
  assert.ok(typeof payload !== 'string', String(payload))
  const intent = {
    id: 'intent-1',
    chainId: 8453,
    asset: ASSET,
    authorization: payload.authorization,
    signature: payload.signature,
    payee: { kind: 'bucket', bucket: '192.0.2.1' },
    status: 'reserved',
    createdUnix: 1,
    fromBlock: 0,
    txHash: null,
    raw: null,
    settler: null,
    txNonce: null,
    reservedGwei: 0n,
    gasDay: 0,
  } as const
  await engine.write((tx) => insertIntent(tx, intent))
  await engine.write((tx) =>
    setIntentStatus(tx, { id: intent.id, from: 'reserved', to: 'abandoned' }),
  )
  return payment
}

function headersOf(payment: object) {
  return { 'payment-signature': toBase64(payment) }
}

onBoth(
  'a payment that was given up costs the node one look in ten seconds, however often it is shown',
  async ({ engine }) => {
    const { desk, asked, time } = countingDesk(engine)
    const headers = headersOf(await abandonedPayment(engine))
    for (let round = 1; round <= 3; round += 1) {
      for (let n = 0; n < 5; n += 1) {
        const seen = await Promise.all([desk.screen(headers), desk.receive(headers, [100_000n])])
        for (const each of seen) assert.equal(each?.kind, 'refusal')
      }
      assert.equal(asked.times, round)
      time.aheadSeconds += 10
    }
  },
)

onBoth(
  'who has not signed a payment that was given up costs the node nothing',
  async ({ engine }) => {
    const { desk, asked } = countingDesk(engine)
    const payment = await abandonedPayment(engine)
    const { payload } = payment
    assert.ok(isObject(payload.authorization))
    const authorization = { ...payload.authorization, value: '100001' }
    const forged = headersOf({ ...payment, payload: { ...payload, authorization } })
    assert.equal((await desk.screen(forged))?.code, 'payment_already_used')
    assert.equal(asked.times, 0)
    assert.equal((await desk.screen(headersOf(payment)))?.code, 'payment_already_used')
    assert.equal(asked.times, 1)
  },
)
