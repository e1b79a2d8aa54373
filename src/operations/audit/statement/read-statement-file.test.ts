import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { CompactSign } from 'jose'
import { parseSigningKeys } from '#lib/signing-keys.ts'
import { signStatement } from '#money/statements/sign-statement.ts'
import type { Statement } from '#money/statements/statement-shape.ts'
import { auditStatement } from './audit-statement.ts'

const { privateKey } = generateKeyPairSync('ed25519')
const keys = parseSigningKeys(String(privateKey.export({ format: 'pem', type: 'pkcs8' })))
assert.ok('kid' in keys)
const signing = keys

const STATEMENT: Statement = {
  service: {
    name: 'Data',
    url: 'https://data.example',
    jwksUrl: 'https://data.example/j',
    payTo: [],
  },
  key: { publicId: '0a1b2c3d', ownerAddress: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' },
  period: { from: '2026-11-01', to: '2026-12-01' },
  openingBalanceMicroUsd: '500',
  closingBalanceMicroUsd: '500',
  movements: [],
  freeCalls: [],
}

async function audit(text: string, jwks: unknown = signing.jwks): Promise<readonly string[]> {
  const database = { kind: 'sqlite' } as const
  const quiet = () => undefined
  const deps = {
    settings: { dataFolder: '/nowhere', database },
    logger: { debug: quiet, info: quiet, warn: quiet },
    ecosystem: () => Promise.reject(new Error('there are no accounts')),
    note: quiet,
  }
  return auditStatement(deps, { text, jwks })
}

const signed = await signStatement(signing, STATEMENT)
const json = JSON.stringify(signed)

test('a good statement is good, as the answer and as its JWS alone', async () => {
  assert.deepEqual(await audit(json), [])
  assert.deepEqual(await audit(`${signed.jws}\n`), [])
})

test('a statement that shows something else than what is signed is none', async () => {
  const lie = { ...STATEMENT, closingBalanceMicroUsd: '99' }
  for (const file of [{ ...signed, statement: lie }, { jws: signed.jws }])
    assert.match((await audit(JSON.stringify(file))).join(), /not the one that is signed/)
})

test('no other payload, kind, key or spelling of a signature is accepted', async () => {
  const [head = '', payload = '', signature = ''] = signed.jws.split('.')
  const sign = (typ: string | undefined, text: string) =>
    new CompactSign(Buffer.from(text))
      .setProtectedHeader({ alg: 'EdDSA', kid: signing.kid, ...(typ !== undefined && { typ }) })
      .sign(privateKey)
  const lie = Buffer.from(JSON.stringify({ ...STATEMENT, closingBalanceMicroUsd: '99' }))
  const unsigned = Buffer.from(JSON.stringify({ alg: 'none', kid: signing.kid, typ: 'statement' }))
  for (const text of [
    `${head}.${lie.toString('base64url')}.${signature}`,
    `${unsigned.toString('base64url')}.${payload}.`,
    `${signed.jws}=`,
    `${signed.jws}.x`,
    await sign('webhook', JSON.stringify(STATEMENT)),
    await sign(undefined, JSON.stringify(STATEMENT)),
    '',
    '..',
    'a.b.c',
  ])
    assert.match((await audit(text)).join(), /the signature is wrong/, text)
  assert.match((await audit(await sign('statement', '{}'))).join(), /not a statement/)
})

test('a statement of before a rotation of the keys is still verified', async () => {
  const { privateKey: newer } = generateKeyPairSync('ed25519')
  const pem = [newer, privateKey].map((key) => key.export({ format: 'pem', type: 'pkcs8' }))
  const rotated = parseSigningKeys(pem.join(''))
  assert.ok('kid' in rotated && rotated.kid !== signing.kid)
  assert.deepEqual(await audit(json, rotated.jwks), [])
})

test('a key set that holds no usable key, or an imposter, is named as wrong', async () => {
  const [key] = signing.jwks.keys
  const { x } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
  for (const keys of [[{ ...key, x: 'AA' }], [{ ...key, x }], [null], []])
    assert.match((await audit(json, { keys })).join(), /the signature is wrong/)
  for (const jwks of [[], null, 'none'])
    assert.match((await audit(json, jwks)).join(), /the signature is wrong/, JSON.stringify(jwks))
})
