import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { createSIWxPayload, encodeSIWxHeader } from '@x402/extensions/sign-in-with-x'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { createFailureGuard } from '#callers/metering/abuse-guard.ts'
import { isObject } from '#lib/json.ts'
import { accountsMigrations } from '#main/stores.ts'
import { onSqlite } from '#test/store/each-engine.ts'
import { toBase64 } from './offers/offer.ts'
import { PaymentReceiver } from './payment-receiver.ts'
import { settlingHarness } from './settling/settling-harness.ts'
import { signInOffer } from './sign-in/sign-in-offer.ts'
import { createVisitors } from './sign-in/signed-in.ts'
import { ACCEPTED } from './x402-harness.ts'

const BURST = 30
const WRONG = 1_000
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

test('of 1,000 wrong sign-ins from one address few are checked, and all valid ones from another are', async () => {
  await onSqlite(accountsMigrations, async ({ engine }) => {
    const { settling } = settlingHarness(engine)
    const visit = createVisitors({ ...settling, recoveries: recoveries() })
    const { info } = signInOffer(settling, `${settling.publicBaseUrl}/api/stats`)['sign-in-with-x']
    const nonce = 'offered10000'
    const asked = { ...info, nonce, chainId: 'eip155:8453', type: 'eip191' as const }
    const header = async (nonce: string) => ({
      'sign-in-with-x': encodeSIWxHeader(
        await createSIWxPayload({ ...asked, nonce }, account, new URL(asked.uri).origin),
      ),
    })
    const payload = await createSIWxPayload(asked, account, new URL(asked.uri).origin)
    const kinds: string[] = []
    for (let n = 0; n < WRONG; n += 1) {
      const wrong = encodeSIWxHeader({ ...payload, nonce: `wrong${10_000 + n}` })
      const headers = { 'sign-in-with-x': wrong }
      kinds.push((await visit({ headers, addressBucket: HOSTILE })).kind)
    }
    assert.deepEqual(tally(kinds), { refused: BURST, limited: WRONG - BURST })
    for (let n = 0; n < 2 * BURST; n += 1) {
      const headers = await header(`right${10_000 + n}`)
      assert.equal((await visit({ headers, addressBucket: HONEST })).kind, 'wallet')
    }
  })
})

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

test('a valid sign-in is recovered once however it is encoded, and never from other addresses', async () => {
  await onSqlite(accountsMigrations, async ({ engine }) => {
    const { settling } = settlingHarness(engine)
    const guard = recoveries()
    let looks = 0
    // Called before each signature recovery.
    const refusal = (name: string) => {
      if (!name.startsWith('replays')) looks += 1
      return guard.refusal(name)
    }
    const visit = createVisitors({ ...settling, recoveries: { ...guard, refusal } })
    const { info } = signInOffer(settling, `${settling.publicBaseUrl}/api/stats`)['sign-in-with-x']
    const sign = (nonce: string) =>
      createSIWxPayload(
        { ...info, nonce, chainId: 'eip155:8453', type: 'eip191' as const },
        account,
        new URL(info.uri).origin,
      )
    const seen = async (payload: object, addressBucket: string) =>
      (await visit({ headers: { 'sign-in-with-x': toBase64(payload) }, addressBucket })).kind
    const payload = await sign('offered10000')
    for (let n = 0; n < 10; n += 1) assert.equal(await seen({ ...payload, n }, HONEST), 'wallet')
    const replays: string[] = []
    for (let n = 0; n < 1_000; n += 1) replays.push(await seen({ ...payload, n }, HOSTILE))
    assert.deepEqual(tally(replays), { refused: BURST, limited: 1_000 - BURST })
    assert.equal(looks, 1)
    // Replays do not block a new sign-in.
    assert.equal(await seen(await sign('offered20000'), HOSTILE), 'wallet')
  })
})
