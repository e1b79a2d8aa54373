import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { parseSigningKeys } from '#lib/signing-keys.ts'
import { signCsv, signStatement } from '#statements/sign-statement.ts'
import type { Statement } from '#statements/statement-shape.ts'
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
  const accounts = { kind: 'sqlite' } as const
  const quiet = () => undefined
  const deps = {
    settings: { dataFolder: '/nowhere', accounts },
    logger: { debug: quiet, info: quiet, warn: quiet },
    ecosystem: () => Promise.reject(new Error('there are no accounts')),
    note: quiet,
  }
  return auditStatement(deps, { text, jwks })
}

const csv = signCsv(signing, STATEMENT)
const json = JSON.stringify(signStatement(signing, STATEMENT))

test('a good statement is good', async () => {
  assert.deepEqual(await audit(csv), [])
  assert.deepEqual(await audit(json), [])
})

test('rows after the signature, which a spreadsheet would show, are no part of a statement', async () => {
  for (const end of ['charges,x,2026-11-02,,-100', ',', 'closing,,2026-12-01,,99'])
    assert.match((await audit(`${csv}${end}\r\n`)).join(), /last line/, end)
  assert.match((await audit(csv.replace(/,+\r\n$/, ',closing is 99\r\n'))).join(), /last line/)
})

test('a member that is there twice, of which readers see one or the other, makes no statement', async () => {
  const lie = JSON.stringify({ ...STATEMENT, closingBalanceMicroUsd: '99' })
  for (const text of [
    `{"statement":${lie},${json.slice(1)}`,
    json.replace(
      '"closingBalanceMicroUsd"',
      '"closingBalanceMicroUsd":"99","closingBalanceMicroUsd"',
    ),
    json.replace(
      '"closingBalanceMicroUsd"',
      '"closingBalanceMicro\\u0055sd":"99","closingBalanceMicroUsd"',
    ),
  ])
    assert.match((await audit(text)).join(), /twice/, text)
})

test('a key set that holds no usable key is named as wrong', async () => {
  const [key] = signing.jwks.keys
  for (const jwks of [{ keys: [{ ...key, x: 'AA' }] }, { keys: [null] }, [], null, 'none'])
    assert.match((await audit(json, jwks)).join(), /the signature is wrong/, JSON.stringify(jwks))
})
