import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAddressBucket, createProxyCheck } from '#access/callers/client-address.ts'
import { warnOfUntrustedProxy } from './untrusted-proxy.ts'

/** The bucket function with its warnings. */
function watched(trustedProxies: readonly string[]) {
  const warnings: string[] = []
  const logger = { warn: (text: string) => void warnings.push(text) }
  const isProxy = createProxyCheck(trustedProxies)
  const bucket = warnOfUntrustedProxy({ logger, isProxy }, createAddressBucket(trustedProxies))
  return { bucket, warnings }
}

const forwarded = { 'x-forwarded-for': '203.0.113.9' }

test('the first X-Forwarded-For of an untrusted peer nearby is one warning with the setting to change', () => {
  for (const [peer, setting] of [
    ['127.0.0.1', '127.0.0.1'],
    ['::ffff:10.0.0.7', '10.0.0.7'],
    ['fd00::7', 'fd00::7'],
  ] as const) {
    const { bucket, warnings } = watched(['192.168.0.0/16'])
    bucket(peer, {})
    assert.deepEqual(warnings, [])
    for (let time = 0; time < 3; time += 1)
      assert.equal(bucket(peer, forwarded), bucket(peer, {}), peer)
    assert.equal(warnings.length, 1)
    assert.match(warnings[0] ?? '', new RegExp(`SEXTON_TRUSTED_PROXIES=${setting}$`))
  }
})

test('a trusted proxy and a far peer are no reason to warn', () => {
  const { bucket, warnings } = watched(['10.0.0.0/8'])
  assert.equal(bucket('10.0.0.7', forwarded), '203.0.113.9')
  for (const peer of ['198.51.100.7', '', 'garbage']) bucket(peer, forwarded)
  assert.deepEqual(warnings, [])
})
