import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findAddressBucket } from '#accounts/metering/callers.ts'
import { readConfig } from '#config.ts'
import type { RequestHeaders } from '#route.ts'
import { testContext } from '#test/test-context.ts'

/** The bucket function of a service with this setting, and its warnings. */
function behind(trustedProxies: string) {
  const warnings: string[] = []
  const environment = trustedProxies === '' ? {} : { SEXTON_TRUSTED_PROXIES: trustedProxies }
  const ctx = testContext({ config: readConfig(environment, { isTty: false }) })
  const warn = (text: string) => void warnings.push(text)
  const watched = { ...ctx, logger: { ...ctx.logger, warn } }
  const bucket = (socketAddress: string, headers: RequestHeaders) =>
    findAddressBucket(watched, socketAddress, headers)
  return { bucket, warnings }
}

const { bucket: nobody } = behind('')
const { bucket: proxied } = behind('10.0.0.0/8,2001:db8:ffff::/48,192.0.2.1')
const via = (forwarded: string | string[], socket = '10.0.0.1') =>
  proxied(socket, { 'x-forwarded-for': forwarded })

test('E1: with no proxies named the socket counts, whatever headers say', () => {
  const headers = {
    'x-forwarded-for': '203.0.113.9',
    'x-real-ip': '203.0.113.9',
    forwarded: 'for=203.0.113.9',
    'cf-connecting-ip': '203.0.113.9',
  }
  assert.equal(nobody('198.51.100.7', headers), '198.51.100.7')
})

test('E1: behind named proxies the rightmost stranger is the client', () => {
  assert.equal(via('203.0.113.9'), '203.0.113.9')
  assert.equal(via('1.2.3.4, 203.0.113.9, 10.0.0.2'), '203.0.113.9')
  assert.equal(via(['1.2.3.4', '203.0.113.9']), '203.0.113.9')
  assert.equal(via('203.0.113.9, 192.0.2.1'), '203.0.113.9')
  assert.equal(via('203.0.113.9', '198.51.100.7'), '198.51.100.7')
  assert.equal(proxied('10.0.0.1', {}), '10.0.0.1')
  assert.equal(via('10.0.0.3, 10.0.0.2'), '10.0.0.3')
})

test('E1: garbage in the list ends the walk at the last hop that could be read', () => {
  assert.equal(via('203.0.113.9, unknown, 10.0.0.2'), '10.0.0.2')
  assert.equal(via('203.0.113.9, 0x7f.1'), '10.0.0.1')
  assert.equal(via('203.0.113.9,'), '10.0.0.1')
  assert.equal(via('999.1.1.1'), '10.0.0.1')
})

test('E2: an IPv4 address written as IPv6 is the same caller', () => {
  assert.equal(nobody('::ffff:198.51.100.7', {}), '198.51.100.7')
  assert.equal(nobody('::ffff:c633:6407', {}), '198.51.100.7')
  assert.equal(nobody('64:ff9b::c633:6407', {}), '198.51.100.7')
  assert.equal(nobody('64:ff9b:1:2::1', {}), '64:ff9b:1:2::/64')
  assert.equal(via('::ffff:203.0.113.9', '::ffff:10.0.0.1'), '203.0.113.9')
})

test('E2: all addresses of an IPv6 /64 are one caller, and two /64s are two', () => {
  assert.equal(nobody('2001:db8:1:2::1', {}), '2001:db8:1:2::/64')
  assert.equal(nobody('2001:db8:1:2:ffff:ffff:ffff:ffff', {}), '2001:db8:1:2::/64')
  assert.equal(nobody('2001:db8:1:3::1', {}), '2001:db8:1:3::/64')
  assert.equal(nobody('::1', {}), '::/64')
})

const forwarded = { 'x-forwarded-for': '203.0.113.9' }

test('the first X-Forwarded-For of an untrusted peer nearby is one warning with the setting to change', () => {
  for (const [peer, setting] of [
    ['127.0.0.1', '127.0.0.1'],
    ['::ffff:10.0.0.7', '10.0.0.7'],
    ['fd00::7', 'fd00::7'],
  ] as const) {
    const { bucket, warnings } = behind('192.168.0.0/16')
    bucket(peer, {})
    assert.deepEqual(warnings, [])
    for (let time = 0; time < 3; time += 1)
      assert.equal(bucket(peer, forwarded), bucket(peer, {}), peer)
    assert.equal(warnings.length, 1)
    assert.match(warnings[0] ?? '', new RegExp(`SEXTON_TRUSTED_PROXIES=${setting}$`))
  }
})
