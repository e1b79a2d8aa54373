import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { hexToBytes } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { parseSignature, recoverSigner } from './signature.ts'

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const wallet = privateKeyToAccount(generatePrivateKey())
const MESSAGE = 'text to sign'
const SIGNED = await wallet.signMessage({ message: MESSAGE })

const word = (value: bigint) => value.toString(16).padStart(64, '0')

/** The twin of a signature that recovers to the same wallet. */
function twin(signature: string): string {
  const s = BigInt(`0x${signature.slice(66, 130)}`)
  const v = signature.slice(130) === '1b' ? '1c' : '1b'
  return `${signature.slice(0, 66)}${word(ORDER - s)}${v}`
}

test('a signature recovers to the wallet that signed', () => {
  const signature = parseSignature(SIGNED)
  assert.ok(signature)
  assert.equal(recoverSigner(MESSAGE, signature), wallet.address.toLowerCase())
  assert.notEqual(recoverSigner('other text', signature), wallet.address.toLowerCase())
})

test('C5: every accepted spelling of a signature becomes one and the same', () => {
  const zeroBased = SIGNED.slice(0, 130) + (SIGNED.endsWith('1b') ? '00' : '01')
  const upper = SIGNED.slice(2).toUpperCase()
  const spellings = [SIGNED, SIGNED.slice(2), zeroBased, `0x${upper}`, upper]
  assert.deepEqual([...new Set(spellings.map((each) => parseSignature(each)))], [SIGNED])
})

test('C5: the high-s twin, zeros and other recovery values are refused', () => {
  const r = SIGNED.slice(2, 66)
  const s = SIGNED.slice(66, 130)
  const wrong = [
    twin(SIGNED),
    `0x${word(0n)}${s}1b`,
    `0x${r}${word(0n)}1b`,
    `0x${word(ORDER)}${s}1b`,
    `0x${r}${word(ORDER / 2n + 1n)}1b`,
    ...['02', '1a', '1d', '25', 'ff'].map((v) => `0x${r}${s}${v}`),
  ]
  for (const text of wrong) assert.equal(parseSignature(text), undefined, text)
})

test('C6: only 65 bytes in hex are a signature', () => {
  const wrong = [
    SIGNED.slice(0, 130),
    SIGNED.slice(0, -1),
    `${SIGNED}00`,
    `${SIGNED}${'6492'.repeat(16)}`,
    `0X${SIGNED.slice(2)}`,
    ` ${SIGNED}`,
    '',
    String(hexToBytes(SIGNED)),
  ]
  for (const text of wrong) assert.equal(parseSignature(text), undefined, text)
})

test('C12: the text is signed as personal_sign does, not as raw bytes or a hash', async () => {
  const raw = parseSignature(await wallet.signMessage({ message: { raw: '0x1234' } }))
  assert.ok(raw)
  assert.notEqual(recoverSigner('0x1234', raw), wallet.address.toLowerCase())
})

test('no text makes the parser or the recovery throw', () => {
  const hex = fc.stringMatching(/^0x[0-9a-f]{130}$/)
  fc.assert(
    fc.property(fc.oneof(fc.string(), hex), (text) => {
      const signature = parseSignature(text)
      if (signature !== undefined) recoverSigner(MESSAGE, signature)
    }),
    { numRuns: 200 },
  )
})
