import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { parseSigningKeys, type SigningKeys } from './signing-keys.ts'

/** RFC 8037, appendix A.1. */
const RFC_KEY = createPrivateKey({
  key: {
    kty: 'OKP',
    crv: 'Ed25519',
    d: 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A',
    x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
  },
  format: 'jwk',
})
const RFC_PEM = String(RFC_KEY.export({ format: 'pem', type: 'pkcs8' }))

function newPem(type: 'ed25519' | 'x25519' = 'ed25519') {
  const options = {
    publicKeyEncoding: { format: 'pem', type: 'spki' },
    privateKeyEncoding: { format: 'pem', type: 'pkcs8' },
  } as const
  return type === 'ed25519'
    ? generateKeyPairSync('ed25519', options)
    : generateKeyPairSync('x25519', options)
}

function keysOf(pem: string): SigningKeys {
  const keys = parseSigningKeys(pem)
  assert.ok('kid' in keys, JSON.stringify(keys))
  return keys
}

const mistakesOf = (pem: string) => {
  const found = parseSigningKeys(pem)
  return 'kid' in found ? [] : found
}

test('the thumbprint is that of RFC 8037, appendix A', () => {
  assert.equal(keysOf(RFC_PEM).kid, 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k')
})

test('the key set has every key and no private member', () => {
  const old = String(createPublicKey(RFC_KEY).export({ format: 'pem', type: 'spki' }))
  const { jwks, kid } = keysOf(`# since March\n${newPem().privateKey}\n${old}`)
  assert.equal(jwks.keys.length, 2)
  assert.equal(jwks.keys[0]?.kid, kid)
  assert.equal(jwks.keys[1]?.kid, 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k')
  for (const key of jwks.keys)
    assert.deepEqual(Object.keys(key).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x'])
})

test('every mistake in a file of keys is named at once', () => {
  const x25519 = newPem('x25519')
  assert.deepEqual(mistakesOf(''), ['it has no PEM block "-----BEGIN PRIVATE KEY-----"'])
  const torn = RFC_PEM.replace(/-----END.*/, '')
  assert.deepEqual(mistakesOf(torn), ['a PEM block has no matching END line'])
  const garbage = '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n'
  const sec1 = '-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n'
  assert.deepEqual(mistakesOf([x25519.privateKey, garbage, sec1, RFC_PEM, RFC_PEM].join('')), [
    'key 1 is of type x25519: it must be ed25519',
    'key 2 cannot be decoded',
    'key 3 is a "EC PRIVATE KEY": write PKCS#8 ("PRIVATE KEY"), or "PUBLIC KEY"',
    'the key kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k is there twice',
  ])
  assert.deepEqual(mistakesOf(newPem().publicKey + RFC_PEM), [
    'key 1 is a public key, but the first key signs: put a private key before it',
  ])
})
