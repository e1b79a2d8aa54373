import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { createFailureGuard } from '#callers/metering/abuse-guard.ts'
import { isObject } from '#lib/json.ts'
import { accountsMigrations } from '#main/stores.ts'
import { onSqlite } from '#test/store/each-engine.ts'
import { toBase64 } from './offers/offer.ts'
import { PaymentReceiver } from './payment-receiver.ts'
import { settlingHarness } from './settling/settling-harness.ts'
import { ACCEPTED } from './x402-harness.ts'

const BURST = 30
const HOSTILE = '192.0.2.1'
const HONEST = '192.0.2.2'
const account = privateKeyToAccount(generatePrivateKey())

/** A guard that never refills, because the clock stands still. */
const recoveries = () => {
  const limit = { burst: BURST, refillPerSecond: 1 }
  return createFailureGuard({ clock: () => 0, limit, message: 'too many wrong signatures' })
}

function tally(kinds: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const kind of kinds) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

test('of many wrongly signed payments from one address few are checked, and valid payments are never refused', async () => {
  await onSqlite(accountsMigrations, async ({ engine }) => {
    const { settling, time } = settlingHarness(engine)
    // The stock client uses the machine's clock.
    time.aheadSeconds = Math.floor((Date.now() - settling.clock()) / 1000)
    const receiver = new PaymentReceiver({ ...settling, recoveries: recoveries() })
    const received = async (isRight: boolean, addressBucket: string) => {
      const { payload } = await new ExactEvmScheme(account).createPaymentPayload(2, ACCEPTED)
      assert.ok(isObject(payload.authorization))
      const authorization = payload.authorization
      const sent = isRight
        ? payload
        : { ...payload, authorization: { ...authorization, nonce: `0x${'7'.repeat(64)}` } }
      const headers = {
        'payment-signature': toBase64({ x402Version: 2, accepted: ACCEPTED, payload: sent }),
      }
      const answer = await receiver.receive(
        { headers, addressBucket },
        { amounts: [100_000n], payee: { kind: 'bucket', bucket: addressBucket } },
      )
      return answer.kind === 'rejected' ? answer.reason : answer.kind
    }
    const wrong: string[] = []
    for (let n = 0; n < 100; n += 1) wrong.push(await received(false, HOSTILE))
    assert.deepEqual(tally(wrong), {
      invalid_exact_evm_payload_signature: BURST,
      refusal: 100 - BURST,
    })
    for (let n = 0; n < 2 * BURST; n += 1) assert.equal(await received(true, HONEST), 'fresh')
  })
})
