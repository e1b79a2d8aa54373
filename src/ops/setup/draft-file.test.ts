import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Address, showAddress } from '#base/address.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import type { Findings } from '#ops/setup/inspect-chain.ts'
import { draftFile } from './draft-file.ts'

const addressOf = (digit: string): Address => `0x${digit.repeat(40)}`

const answers = {
  serviceName: 'Mine',
  publicBaseUrl: 'http://localhost:4020',
  payTo: addressOf('9'),
  today: '2026-01-02',
}

const EMITTED = { lines: [], burnEvents: [], withoutBurns: undefined }

const withoutPayments = { ...answers, payTo: undefined }

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
    isShare: false,
    pool: undefined,
    quotes: [],
    asset: undefined,
    events: EMITTED,
    ...more,
  }
}

const usdc = { address: addressOf('2'), symbol: 'USDC', name: 'USD Coin', decimals: 6 }
const domain = { name: 'USD Coin', version: '2' }

test('a token with the same symbol on two chains is one token, and payments go to base', () => {
  const asset = { token: usdc, domain }
  const found = [findings('ethereum', 1, { asset }), findings('base', 8453, { asset })]
  const { file } = draftFile(found, answers)
  const ecosystem = parseEcosystem('draft', file)
  assert.deepEqual([...ecosystem.primary.addresses.keys()], ['ethereum', 'base'])
  assert.equal(ecosystem.payment?.chain.name, 'base')
  assert.equal(ecosystem.payment?.payTo[0]?.since, '2026-01-02')
  assert.equal(ecosystem.gate, null)
})

test('the draft leaves the gate to the operator, and lists what contracts emit', () => {
  const lines = ['0x11 on base, blocks 1 to 9: Claimed(address,uint256) 2 times']
  const events = { ...EMITTED, lines }
  const { file, questions, remarks } = draftFile([findings('base', 8453, { events })], {
    ...answers,
    payTo: undefined,
  })
  assert.equal(file.gate, undefined)
  assert.deepEqual(
    questions.map(({ path, entry }) => [path, entry]),
    [['gate', 'open']],
  )
  assert.match(remarks[0] ?? '', /^no pool of MINE.*was found on base/)
  assert.deepEqual(remarks.at(-1), lines[0])
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
  }))
  const found = [findings('base', 8453, { pool: { pool, usd: 5_000, floor }, quotes })]
  const { file, notes, questions } = draftFile(found, { ...answers, payTo: undefined })
  const { tokens, primary } = parseEcosystem('draft', file)
  assert.deepEqual(
    tokens.map(({ symbol }) => symbol),
    ['MINE', 'USDC', 'USDC-2'],
  )
  const [source] = primary.prices
  assert.ok(source !== undefined && source.chain !== null)
  assert.deepEqual([source.quote, source.floor], ['USDC-2', 1_000_000_000n])
  assert.match(notes.get('tokens[0].price') ?? '', /about 5000 USD of USDC-2 in it; a tenth of it$/)
  // The gate reads no deeper than the chain's finality.
  const { gate } = parseEcosystem('answered', { ...file, gate: questions[0]?.entry })
  assert.ok(gate !== null && gate !== 'open' && gate.depthBlocks === 8)
})

test('a wallet for payments without an asset to pay in is refused, not dropped', () => {
  assert.throws(() => draftFile([findings('base', 8453)], answers), /--pay-to: no USDC.*on base/)
})

test('the secondary token has its own burns, and history begins with the older of both', () => {
  const older = findings('base', 8453)
  const second = {
    ...older,
    entry: { ...older.entry, startBlock: 2 },
    token: { ...usdc, symbol: 'OTHER' },
    events: { ...EMITTED, lines: [`${showAddress(usdc.address)}: own`, 'a named contract: again'] },
  }
  const { file, remarks } = draftFile([older], withoutPayments, [second])
  assert.match(remarks.join('\n'), /: own$/)
  const ecosystem = parseEcosystem('draft', file)
  assert.equal(ecosystem.secondary?.symbol, 'OTHER')
  assert.equal(ecosystem.chains[0]?.startBlock, 2)
  assert.deepEqual(
    ecosystem.burns.map(({ token }) => token?.symbol),
    ['MINE', 'OTHER'],
  )
})

test('an event named as a burn is proposed as a mapping, and a token without burns is said to have none', () => {
  const event = 'event Burned(address indexed account, uint256 amount)'
  const events = { ...EMITTED, burnEvents: [event], withoutBurns: 'blocks 1 to 9' }
  const { file, questions, remarks } = draftFile(
    [findings('base', 8453, { events })],
    withoutPayments,
  )
  const [proposed] = questions
  assert.equal(proposed?.path, 'burns')
  const { burns } = parseEcosystem('draft', { ...file, burns: [proposed?.entry] })
  assert.equal(burns[0]?.event.name, 'Burned')
  assert.match(remarks.join('\n'), /No burn of MINE was found on base in blocks 1 to 9/)
})
