import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseEcosystem } from '#chains/ecosystem/load-ecosystem.ts'
import type { Address } from '#domain/address.ts'
import { COIN_ADDRESS } from '#domain/token.ts'
import { draftFile } from './draft-file.ts'
import type { Findings } from './inspect-chain.ts'
import { bridgeEvents } from './known-bridges.ts'

const addressOf = (digit: string): Address => `0x${digit.repeat(40)}`

const answers = {
  serviceName: 'Mine',
  publicBaseUrl: 'http://localhost:4020',
  payTo: addressOf('9'),
  today: '2026-01-02',
}

function findings(name: string, id: number, more: Partial<Findings> = {}): Findings {
  return {
    entry: {
      name,
      id,
      rpcUrls: ['http://127.0.0.1:8545'],
      startBlock: 5,
      pollIntervalMs: 500,
      finality: 8,
      staleAfterSeconds: 60,
    },
    notes: {},
    token: { address: addressOf('1'), symbol: 'MINE', name: 'Mine', decimals: 18 },
    implementation: undefined,
    burns: [],
    bridges: [],
    shareOf: undefined,
    vaultAsset: undefined,
    pools: [],
    quotes: [],
    asset: undefined,
    payouts: [],
    untold: [],
    rewards: [],
    remarks: [],
    ...more,
  }
}

const usdc = { address: addressOf('2'), symbol: 'USDC', name: 'USD Coin', decimals: 6 }
const domain = { name: 'USD Coin', version: '2' }

test('a token with the same symbol on two chains is one token, and payments go to base', () => {
  const asset = { token: usdc, domain }
  const found = [
    findings('ethereum', 1, { asset, implementation: addressOf('7') }),
    findings('base', 8453, { asset }),
  ]
  const { file, notes } = draftFile(found, answers)
  const ecosystem = parseEcosystem('draft', file)
  assert.deepEqual([...ecosystem.primary.addresses.keys()], ['ethereum', 'base'])
  assert.equal(ecosystem.payment?.chain.name, 'base')
  assert.equal(ecosystem.payment?.payTo[0]?.since, '2026-01-02')
  assert.match(notes.get('tokens[0].addresses.ethereum') ?? '', /proxy.*0x7777/)
  assert.equal(ecosystem.gate, null)
})

test('without a proven price the draft leaves the gate to the operator, and says why', () => {
  const pool = { kind: 'uniswap-v2', address: addressOf('4'), quote: usdc } as const
  const pools = [{ pool, usd: 5_000, floor: { member: {}, evidence: '' }, since: null }]
  const price = { kind: 'fixed', usd: '1' } as const
  const quotes = [{ token: usdc, price, usd: 1, evidence: 'a symbol', isProven: false }]
  const none = { ...answers, payTo: undefined }
  const [unpriced, guessed] = [
    draftFile([findings('base', 8453)], none),
    draftFile([findings('base', 8453, { pools, quotes })], none),
  ]
  assert.deepEqual([unpriced.file.gate, guessed.file.gate], [undefined, undefined])
  const asked = [unpriced, guessed].flatMap(({ questions }) => questions)
  assert.deepEqual(
    asked.map(({ path }) => path),
    ['gate', 'gate'],
  )
  assert.match(asked[0]?.text ?? '', /no price that a holding could be measured by/)
  assert.match(asked[1]?.text ?? '', /known by its symbol alone/)
  assert.match(unpriced.remarks.join('\n'), /no pool of MINE.*\nno payouts were found on base/)
})

test('two contracts of one symbol are two tokens, and the price names the one in the pool', () => {
  const other = { ...usdc, address: addressOf('3') }
  const pool = { kind: 'uniswap-v2', address: addressOf('4'), quote: other } as const
  const floor = { member: { minLiquidityUsd: '1000' }, evidence: 'a tenth of it' }
  const price = { kind: 'fixed', usd: '1' } as const
  const quotes = [usdc, other].map((token) => ({
    token,
    price,
    usd: 1,
    evidence: 'a symbol',
    isProven: true,
  }))
  const found = [
    findings('base', 8453, { pools: [{ pool, usd: 5_000, floor, since: null }], quotes }),
  ]
  const { file, notes } = draftFile(found, { ...answers, payTo: undefined })
  const { tokens, primary, gate } = parseEcosystem('draft', file)
  assert.deepEqual(
    tokens.map(({ symbol }) => symbol),
    ['MINE', 'USDC', 'USDC-2'],
  )
  const [source] = primary.prices
  assert.ok(source !== undefined && source.chain !== null)
  assert.deepEqual([source.quote, source.floor], ['USDC-2', 1_000_000_000n])
  assert.equal(notes.get('tokens[0].price.minLiquidityUsd'), 'a tenth of it')
  assert.match(notes.get('tokens[0].price') ?? '', /about 5000 USD of USDC-2/)
  // The gate reads no deeper than the chain's finality.
  assert.ok(gate !== null && gate !== 'open' && gate.depthBlocks === 8)
})

const known = {
  part: 'dividends',
  signature: 'RewardPaid(address account, uint256 amount)',
  mapping: { kind: 'claim', recipient: 'account', amount: 'amount' },
} as const
const payout = {
  address: addressOf('5'),
  topic0: addressOf('6'),
  known,
  event: 'event RewardPaid(address indexed account, uint256 amount)',
  tokens: [usdc.address],
  count: 3,
  lastBlock: 9,
  from: 5,
  until: 10,
}

test('payouts that no token explains are asked about, with the coin as a token', () => {
  const { file, questions, remarks } = draftFile([findings('base', 8453, { untold: [payout] })], {
    ...answers,
    payTo: undefined,
  })
  const [coin, claim] = questions
  assert.deepEqual([coin?.path, claim?.path], ['tokens', 'dividends'])
  assert.match(claim?.text ?? '', /RewardPaid\(.*\) 3 times, and moves no token beside it/)
  assert.doesNotMatch(remarks.join(), /no payouts were found/)
  const answered = { ...file, tokens: [...file.tokens, coin?.entry], dividends: [claim?.entry] }
  const [read] = parseEcosystem('answered', answered).dividends
  assert.equal(read?.token?.addresses.get('base'), COIN_ADDRESS)
})

test('the coin that payouts name beside tokens is asked about', () => {
  const payouts = [{ ...payout, tokens: [usdc.address, COIN_ADDRESS] }]
  const { questions } = draftFile([findings('base', 8453, { payouts, rewards: [usdc] })], {
    ...answers,
    payTo: undefined,
  })
  assert.deepEqual(
    questions.map(({ path }) => path),
    ['tokens', 'gate'],
  )
  assert.match(
    questions[0]?.text ?? '',
    /^0x5555.* 3 times, some of them for the coin of the chain/,
  )
})

test('a payout without a token argument names the token that its transactions moved', () => {
  const { file } = draftFile([findings('base', 8453, { payouts: [payout], rewards: [usdc] })], {
    ...answers,
    payTo: undefined,
  })
  const [claim] = parseEcosystem('draft', file).dividends
  assert.equal(claim?.token?.symbol, 'USDC')
})

test('a wallet for payments without an asset to pay in is refused, not dropped', () => {
  assert.throws(() => draftFile([findings('base', 8453)], answers), /--pay-to: no USDC.*on base/)
})

test('an event of a bridge of many tokens is drafted for the own token only', () => {
  const [known] = [...bridgeEvents].filter(([, { text }]) => text.includes('ERC20BridgeInitiated'))
  assert.ok(known !== undefined)
  const [topic0, event] = known
  const seen = { kind: 'burn', beside: 5, of: 5, from: 1, until: 9 } as const
  const bridge = { address: addressOf('8'), topic0, known: event, ...seen }
  const { file } = draftFile([findings('base', 8453, { bridges: [bridge] })], {
    ...answers,
    payTo: undefined,
  })
  const [source] = parseEcosystem('draft', file).bridges
  assert.deepEqual([...(source?.where.get('localToken') ?? [])], [addressOf('1')])
})
