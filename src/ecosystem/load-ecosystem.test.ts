import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import localEcosystem from '#devnet/local-ecosystem.ts'
import { loadEcosystem, parseEcosystem } from './load-ecosystem.ts'
import { EcosystemError } from './problem.ts'

const folder = mkdtempSync(join(tmpdir(), 'sexton-ecosystem-'))
const file = join(folder, 'ecosystem.json')
after(() => rmSync(folder, { recursive: true }))

const zero = '0x0000000000000000000000000000000000000000'
const usdc = localEcosystem.payment.asset
const transfer = 'event Transfer(address indexed from, address indexed to, uint256 value)'

/** A field of the local file, what is written there (undefined: removed), and the error it gives. */
const mistakes: readonly (readonly [field: string, value: unknown, error: RegExp])[] = [
  ['chains', undefined, /: chains: is missing/],
  ['chains[0].id', 0, /: chains\[0\].id: must be >= 1, found 0/],
  [
    'chains[0].rpcUrls[0]',
    'localhost',
    /: chains\[0\].rpcUrls\[0\]: must be a URL that begins with http/,
  ],
  ['chains[0].finality', 1, /: gate.depthBlocks: .*finality of "base"/],
  ['chains[1].name', 'base', /: chains\[1\].name: "base" appears twice/],
  ['chains[1].id', 8453, /: chains\[1\].id: 8453 appears twice/],
  ['chains[0].blockTime', 2, /: chains\[0\].blockTime: is not a known field; remove it or check/],
  ['service.keyPrefix', 'SVC', /: service.keyPrefix: must be a prefix of .*found "SVC"/],
  ['service.publicBaseUrl', 'ftp://x', /: service.publicBaseUrl: must be a URL without a path/],
  [
    'tokens[1].role',
    'primary',
    /: tokens: exactly one token must have the role "primary", found 2/,
  ],
  ['tokens[1].symbol', 'grave', /: tokens\[1\].symbol: "grave" appears twice/],
  ['tokens[0].decimals', 37, /: tokens\[0\].decimals: must be <= 36, found 37/],
  [
    'tokens[0].addresses.base',
    'native',
    /: tokens\[0\].addresses.base: "native" can only be a reward token, not primary: balances/,
  ],
  ['tokens[3].addresses.base', 'native', /: tokens\[3\].addresses.base: the native coin has 18/],
  ['tokens[0].addresses.base', '0x12', /: tokens\[0\].addresses.base: must be an address/],
  [
    'tokens[0].addresses.base',
    '0x5fbDB2315678afecb367f032d93F642f64180aa3',
    /: tokens\[0\].addresses.base: .* wrong checksum \(EIP-55\); copy the address again/,
  ],
  [
    'tokens[0].price.quote',
    'DOGE',
    /: tokens\[0\].price.quote: unknown token "DOGE"; known: GRAVE/,
  ],
  ['tokens[0].price.quote', 'GRAVE', /: tokens\[0\].price.quote: forms a cycle/],
  [
    'tokens[0].addresses.base',
    undefined,
    /: tokens\[0\].price.chain: GRAVE has no address on "base"/,
  ],
  ['tokens[3].price.usd', 'one', /: tokens\[3\].price.usd: must be a plain decimal number/],
  [
    'burns[0].event',
    'event Transfer(addr from)',
    /: burns\[0\].event: is not an event in human-readable/,
  ],
  [
    'burns[0].event',
    'function burn()',
    /: burns\[0\].event: must be an event in human-readable ABI/,
  ],
  [
    'burns[0].from',
    'sender',
    /: burns\[0\].from: "sender" is not an argument of Transfer; known: from/,
  ],
  ['burns[0].token', undefined, /: burns\[0\].token: is missing; name the token/],
  ['dividends[0].recipient', undefined, /: dividends\[0\].recipient: is missing: a claim names/],
  ['dividends[0].tokenArgument', undefined, /: dividends\[0\].token: is missing: name the token/],
  [
    'dividends[0].event',
    transfer,
    /: dividends\[0\].amount: "amount" is not an argument of Transfer/,
  ],
  ['graveDigs[0].graveId', 'grave', /: graveDigs\[0\].graveId: "grave" is not an argument/],
  ['supply.nonCirculating[0].address', `0x${'0'.repeat(36)}dEaD`, /is a burn address already/],
  ['payment.payTo[0].address', zero, /: payment.payTo\[0\].address: is the zero address/],
  ['payment.payTo[0].address', usdc, /: payment.payTo\[0\].address: is the payment asset itself/],
  [
    'payment.payTo[1]',
    { address: usdc.toLowerCase().replace('8', '9'), since: '2024-01-01' },
    /: payment.payTo\[1\].since: must be later than the entry before; list the oldest first/,
  ],
  [
    'payment.settle',
    { facilitator: 'https://name:secret@facilitator.example' },
    /: payment.settle.facilitator: must have neither credentials nor a query; (?!.*secret@)/,
  ],
  ['pricePerCallUsd', '0.0000001', /: pricePerCallUsd: must be above 0 with at most 6 decimals/],
  ['pricePerCallUsd', 0.0001, /: pricePerCallUsd: must be string, found 0.0001/],
  ['gate.minimumUsd', '0.1234567', /: gate.minimumUsd: has more than 6 decimals/],
  ['quotas.free', 1.5, /: quotas.free: must be integer, found 1.5/],
]

/** The local file with one field written anew. */
function withMistake(field: string, value: unknown): unknown {
  const copy: unknown = structuredClone(localEcosystem)
  const names = field.replaceAll('[', '.').replaceAll(']', '').split('.')
  const last = names.pop() ?? ''
  let parent = copy
  for (const name of names) parent = (parent as Record<string, unknown>)[name]
  const target = parent as Record<string, unknown>
  if (value === undefined) delete target[last]
  else target[last] = value
  return copy
}

function errorOf(work: () => unknown): Promise<Error> {
  return Promise.resolve()
    .then(work)
    .then(
      () => assert.fail('the file was accepted'),
      (error: Error) => error,
    )
}

for (const [field, value, expected] of mistakes)
  test(`${field} ${value === undefined ? 'missing' : `as ${JSON.stringify(value)}`} is reported in one line`, async () => {
    writeFileSync(file, JSON.stringify(withMistake(field, value)))
    const error = await errorOf(() => loadEcosystem(file))
    assert.ok(error instanceof EcosystemError, String(error))
    assert.match(error.message, expected)
    for (const line of error.message.split('\n')) assert.ok(line.startsWith(`${file}: `), line)
  })

test('the local ecosystem loads, from the module and from JSON', async () => {
  const module = join(import.meta.dirname, '../../devnet/local-ecosystem.ts')
  writeFileSync(file, JSON.stringify(localEcosystem))
  for (const path of [module, file]) {
    const { chains, primary, secondary, pricePerCall, payment } = await loadEcosystem(path)
    assert.deepEqual(
      chains.map((chain) => chain.name),
      ['base', 'ethereum', 'arbitrum'],
    )
    assert.deepEqual([primary.symbol, secondary?.symbol], ['GRAVE', 'CRYPT'])
    assert.equal(pricePerCall, 100n)
    assert.equal(payment?.asset, usdc.toLowerCase())
  }
})

test('no JSON, no file and no module are told with the name of the file', async () => {
  writeFileSync(file, '{"chains": [}')
  assert.match(
    (await errorOf(() => loadEcosystem(file))).message,
    /ecosystem\.json: file: .*ecosystem\.json:\d+:\d+ is not valid JSON/,
  )
  for (const absent of ['absent.json', 'absent.ts'])
    assert.match(
      (await errorOf(() => loadEcosystem(join(folder, absent)))).message,
      /file: .*absent\.(json|ts) does not exist; name yours with --ecosystem/,
    )
  const empty = join(folder, 'empty.ts')
  writeFileSync(empty, 'export const mine = {}')
  assert.match(
    (await errorOf(() => loadEcosystem(empty))).message,
    /empty\.ts exports nothing to read; write "export default/,
  )
  assert.match(
    (await errorOf(() => parseEcosystem('mine', null))).message,
    /^mine: file: must be object/,
  )
})

test('all mistakes in a file are reported at once, even if some parts are malformed', async () => {
  const [base, ...chains] = localEcosystem.chains
  const [grave, crypt, ...others] = localEcosystem.tokens
  const [burn, ...burns] = localEcosystem.burns
  const { message } = await errorOf(() =>
    parseEcosystem('mine', {
      ...localEcosystem,
      service: { ...localEcosystem.service, keyPrefix: 'SVC', colour: 'red', shape: 'round' },
      chains: [{ ...base, pollIntervalMs: 'fast', finality: 'soon' }, ...chains],
      tokens: [{ ...grave, role: 'first' }, crypt, ...others],
      burns: [{ ...burn, amount: 5 }, { ...burns[0], from: 'sender' }, ...burns.slice(1)],
      gate: { ...localEcosystem.gate, chain: 'solana', minimumUsd: '0.12345678' },
      premium: { supplyPerMille: 0 },
      payment: { ...localEcosystem.payment, confirmations: -1 },
      pricePerCallUsd: '0',
    }),
  )
  assert.deepEqual(
    message.split('\n').map((line) => line.replace(/^mine: ([^:]+): .*$/, '$1')),
    [
      'service.colour',
      'service.shape',
      'service.keyPrefix',
      'chains[0].pollIntervalMs',
      'chains[0].finality',
      'tokens[0].role',
      'burns[0].amount',
      'payment.confirmations',
      'premium.supplyPerMille',
      'burns[1].from',
      'gate.minimumUsd',
      'gate.chain',
      'pricePerCallUsd',
    ],
  )
  assert.match(
    message,
    /tokens\[0\]\.role: must be one of primary, secondary, reward, found "first"/,
  )
  assert.match(message, /chains\[0\]\.finality: must be "tag" where .*, found "soon"/)
})

test('a gate on the price of the last trade of a pool is refused, also where it is the quote', async () => {
  const pool = { chain: 'base', address: `0x${'5'.repeat(40)}`, quote: 'USDC' }
  const curve = { ...pool, kind: 'curve', index: 0, quoteIndex: 1 }
  const pricing =
    (symbol: string, file: object, price: object = curve) =>
    () =>
      parseEcosystem('mine', {
        ...localEcosystem,
        ...file,
        tokens: localEcosystem.tokens.map((token) =>
          token.symbol === symbol ? { ...token, price } : token,
        ),
      })
  for (const symbol of ['GRAVE', 'WETH']) {
    const { message } = await errorOf(pricing(symbol, {}))
    assert.match(message, /^mine: gate: the price of GRAVE is that of the last trade \(curve\)/m)
    pricing(symbol, { gate: 'open' })()
    const vault = await errorOf(pricing(symbol, {}, { ...pool, kind: 'erc4626' }))
    assert.match(vault.message, /^mine: gate: .* the last trade \(erc4626\)/m)
  }
})

for (const [name, change, expected] of [
  [
    'a gate',
    { tokens: localEcosystem.tokens.map(({ price: _, ...token }) => token) },
    /gate: token GRAVE has no price/,
  ],
  [
    'premium',
    { tokens: localEcosystem.tokens.filter(({ role }) => role !== 'secondary'), burns: [] },
    /premium: needs a token with the role "secondary"/,
  ],
] as const)
  test(`${name} that can never be met is refused`, () => {
    assert.throws(() => parseEcosystem('mine', { ...localEcosystem, ...change }), expected)
  })

test('premium may name the primary token, and no token but the primary or secondary', () => {
  const [primary] = localEcosystem.tokens
  const tokens = localEcosystem.tokens.filter(({ role }) => role !== 'secondary')
  const withPremium = (token: string) => ({
    ...{ ...localEcosystem, tokens, burns: [] },
    premium: { ...localEcosystem.premium, token },
  })
  const { premium } = parseEcosystem('mine', withPremium(primary?.symbol.toLowerCase() ?? ''))
  assert.equal(premium?.token.symbol, primary?.symbol)
  assert.throws(
    () => parseEcosystem('mine', withPremium('USDC')),
    /premium\.token: must be the primary or the secondary token/,
  )
})
