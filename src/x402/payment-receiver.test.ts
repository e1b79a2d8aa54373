import assert from 'node:assert/strict'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { isRefusal } from '#domain/refusal.ts'
import { eachEngine } from '#ledger/each-engine.ts'
import { isObject } from '#lib/json.ts'
import { accountsMigrations } from '#main/stores.ts'
import type { Engine } from '#store/engine.ts'
import { startPostgres } from '#test/postgres.ts'
import { toBase64 } from './offers/offer.ts'
import { readPayment } from './offers/payment-payload.ts'
import { PaymentReceiver, refuseUsed } from './payment-receiver.ts'
import { settlingHarness } from './settling/settling-harness.ts'
import { ACCEPTED, storePayment } from './x402-harness.ts'

const addressBucket = '192.0.2.1'

const onBoth = eachEngine(startPostgres, accountsMigrations)

/** A receiver, and how often it has asked its node anything. */
function countingReceiver(engine: Engine) {
  const { deps, settling, time } = settlingHarness(engine)
  const asked = { times: 0 }
  const rpc = new Proxy(deps.rpc, {
    get(target, name) {
      asked.times += 1
      return Reflect.get(target, name)
    },
  })
  return { receiver: new PaymentReceiver({ ...settling, rpc }), asked, time }
}

/** A payment that was given up before it was sent, as the header that carries it. */
async function abandonedPayment(engine: Engine) {
  const scheme = new ExactEvmScheme(privateKeyToAccount(generatePrivateKey()))
  const signed = await scheme.createPaymentPayload(2, ACCEPTED)
  const payment = { x402Version: 2, accepted: ACCEPTED, payload: signed.payload }
  const payload = readPayment(headersOf(payment))
  assert.ok(typeof payload !== 'string', String(payload))
  const { authorization } = payload
  await storePayment(engine, { authorization, bucket: '192.0.2.1', status: 'abandoned' })
  return payment
}

function headersOf(payment: object) {
  return { 'payment-signature': toBase64(payment) }
}

onBoth(
  'a payment that was given up costs the node one look in ten seconds, however often it is shown',
  async ({ engine }) => {
    const { receiver, asked, time } = countingReceiver(engine)
    const headers = headersOf(await abandonedPayment(engine))
    await receiver.screen({ headers, addressBucket })
    const look = asked.times
    assert.ok(look > 0)
    for (let looks = 2; looks <= 4; looks += 1) {
      time.aheadSeconds += 10
      for (let n = 0; n < 5; n += 1) {
        const seen = await Promise.all([
          receiver.screen({ headers, addressBucket }),
          receiver.receive({ headers, addressBucket }, [100_000n]),
        ])
        for (const each of seen) assert.ok(isRefusal(each))
      }
      assert.equal(asked.times, looks * look)
    }
  },
)

onBoth(
  'who has not signed a payment that was given up costs the node nothing',
  async ({ engine }) => {
    const { receiver, asked } = countingReceiver(engine)
    const payment = await abandonedPayment(engine)
    const { payload } = payment
    assert.ok(isObject(payload.authorization))
    const authorization = { ...payload.authorization, value: '100001' }
    const forged = headersOf({ ...payment, payload: { ...payload, authorization } })
    assert.deepEqual(await receiver.screen({ headers: forged, addressBucket }), refuseUsed())
    assert.equal(asked.times, 0)
    assert.deepEqual(
      await receiver.screen({ headers: headersOf(payment), addressBucket }),
      refuseUsed(),
    )
    assert.ok(asked.times > 0)
  },
)
