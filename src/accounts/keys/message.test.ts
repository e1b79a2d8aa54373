import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isRefusal } from '#base/refusal.ts'
import { parseInstant } from '#base/time.ts'
import { testContext } from '#test/test-context.ts'
import { ACTIONS, buildMessage, checkMessage, type Expected, parseMessage } from './message.ts'

const NAME = 'Sexton'
const WALLET = '0x52908400098527886E0F7030069857D2E4169EE7'
const NOW = Date.UTC(2026, 10, 21, 12)
const ISSUED = '2026-11-21T12:00:00Z'
const MINT = `${NAME}: mint an API key\nAddress: ${WALLET}\nIssued: ${ISSUED}`
const VALUES = {
  address: WALLET,
  chain: '8453',
  transaction: `0x${'ab'.repeat(32)}`,
  key: '0a1b2c3d',
  to: 'ffffffff',
  issued: ISSUED,
}
const mintBy = (freshness: Expected['freshness'] = 'required'): Expected => ({
  action: 'mint',
  address: '0x52908400098527886e0f7030069857d2e4169ee7',
  freshness,
})

function verdict(text: string, expected = mintBy()): string {
  const outcome = checkMessage(testContext({ clock: () => NOW }), text, expected)
  return isRefusal(outcome) ? outcome.code : 'good'
}

test('the mint message is exactly the three lines of the contract', () => {
  assert.equal(buildMessage(NAME, 'mint', VALUES), MINT)
  assert.equal(verdict(MINT), 'good')
})

test('every action has a message of its own that parses back to what was built', () => {
  const texts = ACTIONS.map((action) => buildMessage(NAME, action, VALUES))
  assert.equal(new Set(texts).size, ACTIONS.length)
  for (const [index, text] of texts.entries()) {
    assert.equal(parseMessage(NAME, text)?.action, ACTIONS[index])
    assert.ok(text.length <= 512)
  }
})

test('C8: a message signed for one action serves no other', () => {
  for (const action of ACTIONS.filter((each) => each !== 'mint'))
    assert.equal(verdict(buildMessage(NAME, action, VALUES)), 'message_wrong_action')
  assert.equal(verdict(MINT.replace(NAME, 'Another Service')), 'message_malformed')
})

test('C2: a message older than five minutes or more than a minute ahead is refused', () => {
  const at = (ms: number) => verdict(MINT.replace(ISSUED, new Date(NOW + ms).toISOString()))
  assert.equal(at(-300_000), 'good')
  assert.equal(at(-300_001), 'message_expired')
  assert.equal(at(60_000), 'good')
  assert.equal(at(60_001), 'message_expired')
  assert.equal(verdict(MINT.replace('2026-11', '2025-11'), mintBy('ignored')), 'good')
})

test('C3: only an exact RFC 3339 instant is a date', () => {
  const wrong = [
    '1',
    '01/01/2026',
    'Tue 2026',
    '2026-02-31T00:00:00Z',
    '2026-02-29T00:00:00Z',
    '2100-02-29T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-00-10T00:00:00Z',
    '2026-13-10T00:00:00Z',
    '2026-11-21T24:00:00Z',
    '2026-11-21T12:60:00Z',
    '2026-11-21T12:00:60Z',
    '2026-11-21 12:00:00Z',
    '2026-11-21t12:00:00z',
    '2026-11-21T12:00:00',
    '2026-11-21T12:00:00.Z',
    '2026-11-21T12:00:00.1234567890Z',
    '2026-11-21T12:00:00+24:00',
    '2026-11-21T12:00:00+01:60',
    '2026-11-21T12:00:00+0100',
    '+002026-11-21T12:00:00Z',
    '2026-11-21T12:00:00Z ',
    '٢٠٢٦-11-21T12:00:00Z',
  ]
  for (const text of wrong) assert.equal(parseInstant(text), undefined, text)
  assert.equal(
    parseInstant('2028-02-29T23:30:00.123456789-01:30'),
    Date.UTC(2028, 2, 1, 1, 0, 0, 123),
  )
  assert.equal(parseInstant('2026-11-21T13:00:00+01:00'), NOW)
})

test('C4: no byte may be added, changed or moved', () => {
  const wrong = [
    `${MINT}\n`,
    ` ${MINT}`,
    `${MINT} `,
    MINT.replaceAll('\n', '\r\n'),
    MINT.replace('\n', '\n\n'),
    MINT.replace('Address: ', 'Address:  '),
    MINT.replace('Address: ', 'address: '),
    MINT.replace('mint', 'mint\u200b'),
    MINT.replace('Issued', 'Issu\u202eed'),
    MINT.replace('mint', 'Mint'),
    `${MINT}\nAddress: ${WALLET}`,
    MINT.replace('\nIssued', `\nAddress: ${WALLET}\nIssued`),
    `${NAME}: mint an API key\nIssued: ${ISSUED}\nAddress: ${WALLET}`,
    MINT.replace('\nIssued', '\nChain ID: 1\nIssued'),
    MINT.slice(0, MINT.lastIndexOf('\n')),
    MINT.padEnd(513),
    '',
  ]
  for (const text of wrong) assert.equal(verdict(text), 'message_malformed', JSON.stringify(text))
})

test('C7: the address line may have any valid case and no wrong checksum', () => {
  assert.equal(verdict(MINT.replace(WALLET, WALLET.toLowerCase())), 'good')
  assert.equal(
    verdict(MINT.replace('52908400098527886E', '52908400098527886e')),
    'message_malformed',
  )
  const other = MINT.replace(WALLET, `0x${'11'.repeat(20)}`)
  assert.equal(verdict(other), 'message_address_mismatch')
})
