import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  createSIWxPayload,
  encodeSIWxHeader,
  type SIWxPayload,
} from '@x402/extensions/sign-in-with-x'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { readSignIn } from './sign-in-message.ts'
import { signInOffer } from './sign-in-offer.ts'

const NOW_MS = Date.UTC(2026, 10, 21, 12)
const URL_ASKED = 'https://api.example.org/api/burns?period=7d'
const deps = {
  clock: () => NOW_MS,
  newId: () => '11111111-2222-4333-8444-555555555555',
  publicBaseUrl: 'https://api.example.org',
  payment: { chain: { id: 8453 } },
}
const account = privateKeyToAccount(generatePrivateKey())
const offered = signInOffer(deps, URL_ASKED)['sign-in-with-x']
const info = { ...offered.info, chainId: 'eip155:8453', type: 'eip191' as const }

type Changes = Partial<
  Omit<typeof info, 'resources'> & {
    resources: string[] | undefined
    notBefore: string
    requestId: string
  }
>

/** What the stock client makes of an offer. */
function sign(changes: Changes = {}) {
  const changed = Object.fromEntries(
    Object.entries({ ...info, ...changes }).filter(([, value]) => value !== ''),
  ) as typeof info
  // Its own check of the origin is passed, so that ours is seen.
  return createSIWxPayload(changed, account, new URL(changed.uri).origin)
}

const readHeader = (header: string | string[]) => {
  const read = readSignIn(deps, header)
  if (typeof read === 'string') return read
  return read.isSigned() ? read.signIn : 'invalid_siwx_signature'
}
const read = (payload: SIWxPayload) => readHeader(encodeSIWxHeader(payload))
const at = (seconds: number) => new Date(NOW_MS + seconds * 1000).toISOString()

describe('a sign-in', () => {
  test('that the stock client makes of our offer tells its wallet, for five minutes', async () => {
    const signIn = read(await sign())
    assert.deepEqual(signIn, {
      wallet: account.address.toLowerCase(),
      nonce: '11111111222243338444555555555555',
      usableFromMs: NOW_MS - 60_000,
      untilMs: NOW_MS + 300_000,
    })
  })

  test('may leave out what is optional, and may say more', async () => {
    for (const changes of [
      { statement: '' },
      { resources: [] },
      { resources: undefined },
      { expirationTime: '' },
      { notBefore: at(-1), requestId: 'call-1' },
      { issuedAt: at(-200), expirationTime: at(20) },
    ])
      assert.equal(typeof read(await sign(changes)), 'object', JSON.stringify(changes))
  })

  test('lives five minutes whatever it says itself', async () => {
    const signIn = read(await sign({ issuedAt: at(-100), expirationTime: at(86_400) }))
    assert.ok(typeof signIn === 'object' && 'untilMs' in signIn)
    assert.equal(signIn.untilMs, NOW_MS + 200_000)
  })

  for (const [name, changes, reason] of [
    [
      'another service',
      { domain: 'other.example.org', uri: 'https://other.example.org/' },
      'invalid_siwx_domain_mismatch',
    ],
    [
      'another origin',
      { uri: 'https://api.example.org:444/', domain: 'api.example.org:444' },
      'invalid_siwx_domain_mismatch',
    ],
    [
      'the resources of another service',
      { resources: ['https://other.example.org/'] },
      'invalid_siwx_uri_mismatch',
    ],
    ['another chain', { chainId: 'eip155:1' }, 'invalid_siwx_unsupported_chain'],
    ['a past day', { issuedAt: at(-300) }, 'invalid_siwx_issued_at_too_old'],
    [
      'a time to come',
      { issuedAt: at(61), expirationTime: at(120) },
      'invalid_siwx_issued_at_in_future',
    ],
    ['a time that is over', { expirationTime: at(0) }, 'invalid_siwx_expired'],
    ['a time that has not begun', { notBefore: at(10) }, 'invalid_siwx_not_yet_valid'],
    [
      'a nonce that can be guessed by its length',
      { nonce: 'abcdefgh'.repeat(9) },
      'invalid_siwx_nonce',
    ],
  ] as const)
    test(`for ${name} is not taken`, async () => {
      const payload = await sign(changes as Changes)
      assert.equal(read(payload), reason)
    })

  test('whose uri is of another place than its domain is not taken', async () => {
    const payload = await sign()
    assert.equal(
      read({ ...payload, uri: 'https://other.example.org/' }),
      'invalid_siwx_uri_mismatch',
    )
  })

  test('in which anything was changed after it was signed is not taken', async () => {
    const payload = await sign()
    const other = privateKeyToAccount(generatePrivateKey())
    for (const changes of [
      { address: other.address },
      { nonce: 'aaaaaaaabbbbbbbb' },
      { statement: 'Something else.' },
      { issuedAt: at(-1) },
      { uri: 'https://api.example.org/' },
      { resources: [] },
      { requestId: 'added' },
    ])
      assert.equal(
        read({ ...payload, ...changes }),
        'invalid_siwx_signature',
        JSON.stringify(changes),
      )
  })

  test('that cannot be read is not taken, and breaks nothing', async () => {
    const payload = await sign()
    const { signature, ...unsigned } = payload
    for (const broken of [
      unsigned,
      { ...payload, signature: `${signature}00` },
      { ...payload, version: '2' },
      { ...payload, type: 'ed25519' },
      { ...payload, statement: 'two\nlines' },
      { ...payload, statement: 7 },
      { ...payload, resources: 'https://api.example.org/' },
      { ...payload, address: '0x12' },
      [],
      null,
    ])
      assert.equal(
        readHeader(Buffer.from(JSON.stringify(broken)).toString('base64')),
        'invalid_siwx_header',
      )
    for (const header of ['', 'not base64!', ['e30=', 'e30=']])
      assert.equal(readHeader(header), 'invalid_siwx_header')
    assert.equal(read({ ...payload, issuedAt: 'yesterday' }), 'invalid_siwx_issued_at_too_old')
    assert.equal(read({ ...payload, expirationTime: 'later' }), 'invalid_siwx_expired')
  })
})
