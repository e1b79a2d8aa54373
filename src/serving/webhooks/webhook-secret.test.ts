import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSigned } from '#test/webhooks/receiver.ts'
import { keysOf, newPem } from '#test/webhooks/webhook-world.ts'
import { secretOf, signedHeaders } from './webhook-secret.ts'

const [OLD, NEW] = [newPem(), newPem()]
const WEBHOOK = { id: 'a', version: 2, rotatedUnix: null }
const EVENT = { id: 'a-1', unix: 1_700_000_000, payload: '{"type":"burn.add"}' }

function verifies(secret: string, headers: Readonly<Record<string, string>>): boolean {
  return isSigned(secret, {
    id: headers['webhook-id'] ?? '',
    timestamp: headers['webhook-timestamp'] ?? '',
    body: EVENT.payload,
    signature: headers['webhook-signature'] ?? '',
  })
}

test('a delivery is signed with the secret of its webhook, and with no other', () => {
  const keys = keysOf(OLD)
  const headers = signedHeaders(keys, WEBHOOK, EVENT)
  assert.match(secretOf(keys, WEBHOOK), /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.ok(verifies(secretOf(keys, WEBHOOK), headers))
  assert.ok(!verifies(secretOf(keys, { ...WEBHOOK, id: 'b' }), headers))
  assert.ok(!verifies(secretOf(keys, { ...WEBHOOK, version: 1 }), headers))
  assert.ok(!verifies(secretOf(keysOf(NEW), WEBHOOK), headers))
})

test('for a day after a rotation both secrets of a webhook verify', () => {
  const keys = keysOf(OLD)
  const before = secretOf(keys, { ...WEBHOOK, version: 1 })
  const at = (seconds: number) =>
    signedHeaders(keys, { ...WEBHOOK, rotatedUnix: EVENT.unix - seconds }, EVENT)
  assert.ok(verifies(before, at(3_600)) && verifies(secretOf(keys, WEBHOOK), at(3_600)))
  assert.ok(!verifies(before, at(90_000)))
})

test('while the key file lists the old private key, both secrets of the service verify', () => {
  const keys = keysOf(`${NEW}${OLD}`)
  const headers = signedHeaders(keys, WEBHOOK, EVENT)
  for (const pem of [OLD, NEW]) assert.ok(verifies(secretOf(keysOf(pem), WEBHOOK), headers))
})

/** The example of the Standard Webhooks specification, "Example signatures". */
test('the check that this test signs off with is that of the specification', () => {
  const signed = {
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestamp: '1614265330',
    body: '{"test": 2432232314}',
    signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  }
  assert.ok(isSigned('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', signed))
})
