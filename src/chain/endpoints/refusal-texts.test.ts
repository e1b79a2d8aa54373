import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readLogsAndBlock } from '#chain/endpoints/json-rpc.ts'
import { EndpointError, type FailureKind } from '../rpc-error.ts'

interface RefusalText {
  /** The public endpoint that sent it in 2026, or the thread that quotes it. */
  readonly source: string
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown }
  readonly kind: FailureKind
  readonly blocksMax?: number
  readonly blocksThatFit?: number
}

const ASKED = 16_000

function capped(source: string, code: number, message: string, blocksMax: number): RefusalText {
  return { source, error: { code, message }, kind: 'too-large', blocksMax }
}

const invalid = { code: -32_602, message: 'Invalid params' }

/** Verbatim error texts. */
const texts: readonly RefusalText[] = [
  capped('evm.cronos.org', -32_000, 'maximum [from, to] blocks distance: 2000', 2_000),
  {
    source: 'blastapi, paid (erpc/erpc http_server_test.go)',
    error: {
      ...invalid,
      data: {
        range:
          'the range 55074203 - 55090202 exceeds the range allowed for your plan (15999 > 2000).',
      },
    },
    kind: 'too-large',
    blocksMax: 2_000,
  },
  capped(
    'a plan of 2026',
    -32_600,
    'eth_getLogs is limited to a 5 range on this plan; upgrade to increase the limit to 10,000',
    5,
  ),
  capped('rpc.blast.io', -32_614, 'eth_getLogs is limited to a 10,000 range', 10_000),
  capped(
    'api.avax.network',
    -32_000,
    'requested too many blocks from 50331648 to 50347647, maximum is set to 2048',
    2_048,
  ),
  capped('rpc.soniclabs.com', -32_000, 'too wide blocks range, the limit is 100', 100),
  capped(
    'mainnet.infura.io (INFURA/infura#237)',
    -32_602,
    'range 16000 exceeds limit of 10000',
    10_000,
  ),
  {
    source: 'api.roninchain.com',
    error: {
      ...invalid,
      data: 'requested block range 16000 exceeds the limit of 200; narrow your fromBlock/toBlock',
    },
    kind: 'too-large',
    blocksMax: 200,
  },
  {
    source: 'goerli.gateway.tenderly.co (bobanetwork/boba_legacy#827)',
    error: { ...invalid, data: { payload: 'range 16000 is bigger than range limit 2000' } },
    kind: 'too-large',
    blocksMax: 2_000,
  },
  {
    source: 'rpc.mainnet.taiko.xyz',
    error: {
      code: -32_012,
      message: 'block range too large',
      data: { details: { maxAllowedRange: 1_000 } },
    },
    kind: 'too-large',
    blocksMax: 1_000,
  },
  capped(
    'forno.celo.org',
    -32_602,
    'query exceeds range, retry smaller (max block range 5000, got 16000)',
    5_000,
  ),
  capped('zkevm-rpc.com', -32_000, 'block range too large, max range: 10000', 10_000),
  capped(
    'erigon',
    -32_000,
    'query block range exceeds server limit, narrow your filter: 1000',
    1_000,
  ),
  capped('drpc, free', 35, 'ranges over 10000 blocks are not supported on free plan', 10_000),
  {
    source: 'reth (filter.rs)',
    error: {
      code: -32_602,
      message: 'query exceeds max results 20000, retry with the range 1000-8999',
    },
    kind: 'too-large',
    blocksThatFit: 8_000,
  },
  capped('1rpc.io', -32_602, 'eth_getLogs is limited to 0 - 50 blocks range', 50),
  capped('api.harmony.one', -32_000, 'GetLogs query must be smaller than size 1024', 1_024),
  {
    source: 'eth-mainnet.public.blastapi.io',
    error: {
      code: -32_600,
      message:
        'You can make eth_getLogs requests with up to a 10 block range. Based on your parameters, this block range should work: [0x18b0000, 0x18b0009]',
    },
    kind: 'too-large',
    blocksMax: 10,
    blocksThatFit: 10,
  },
  {
    source: 'arb1.arbitrum.io',
    error: { code: -32_000, message: 'logs matched by query exceeds limit of 10000' },
    kind: 'too-large',
  },
  {
    source: 'bsc-dataseed.bnbchain.org (bnb-chain/bsc#1215)',
    error: { code: -32_005, message: 'limit exceeded' },
    kind: 'too-large',
  },
  {
    source: 'hiero-ledger/hiero-json-rpc-relay#3431',
    error: {
      code: -32_004,
      message:
        'The provided fromBlock and toBlock contain timestamps that exceed the maximum allowed duration of 7 days (604800 seconds): fromBlock: 0x64 (1700000000.0), toBlock: 0xc8 (1701000000.0)',
    },
    kind: 'too-large',
  },
  {
    source: 'geth, reth, Nethermind (ethereum/execution-apis filter-error-reversed-block-range.io)',
    error: { code: -32_602, message: 'invalid block range params' },
    kind: 'refused',
  },
  {
    source: 'a node behind its own memory limit',
    error: { code: -32_000, message: 'memory capacity exceeded' },
    kind: 'too-large',
  },
  {
    source: 'quicknode (latticexyz/mud#1522)',
    error: { code: -32_012, message: 'credits limited to 6000/sec' },
    kind: 'too-fast',
  },
  {
    source: 'quicknode (foundry-rs/foundry#4894)',
    error: {
      code: -32_007,
      message:
        '100/second request limit reached - reduce calls per second or upgrade your account at quicknode.com',
    },
    kind: 'too-fast',
  },
  {
    source: 'alchemy (latticexyz/mud#1522)',
    error: {
      code: 429,
      message: 'Your app has exceeded its compute units per second capacity.',
    },
    kind: 'too-fast',
  },
  {
    source: 'infura',
    error: {
      code: -32_005,
      message: 'project ID request rate exceeded',
      data: { rate: { allowed_rps: 1, backoff_seconds: 30, current_rps: 1.4 } },
    },
    kind: 'too-fast',
  },
  {
    source: 'ethereum-rpc.publicnode.com, reth',
    error: { code: -32_602, message: 'block range extends beyond current head block' },
    kind: 'behind',
  },
  {
    source: 'ethereum-rpc.publicnode.com',
    error: {
      code: -32_602,
      message:
        'Archive requests require a personal token. Get one at: https://www.allnodes.com/publicnode',
    },
    kind: 'pruned',
  },
]

function read(error: RefusalText['error'], blocksAsked: number): EndpointError {
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, error }))
  const logs = { id: 1, method: 'eth_getLogs', blocksAsked }
  try {
    readLogsAndBlock({ status: 200, retryAfterMs: undefined, body }, { logs, block: logs })
  } catch (refusal) {
    if (refusal instanceof EndpointError) return refusal
    throw refusal
  }
  return assert.fail('a refusal was read as an answer')
}

for (const { source, error, kind, blocksMax, blocksThatFit } of texts)
  test(`${source}: "${error.message}" is ${kind}`, () => {
    const { kind: found, ...told } = read(error, ASKED)
    assert.equal(found, kind)
    assert.equal(told.blocksMax, blocksMax)
    assert.equal(told.blocksThatFit, blocksThatFit)
  })

for (const [message, addressesMax] of [
  ['eth_getLogs takes at most 10 addresses', 10],
  ['too many addresses, max 20', 20],
  ['exceed max addresses or topics per search position', Number.POSITIVE_INFINITY],
  ['specify less than number of address', Number.POSITIVE_INFINITY],
  ['block range exceeds the limit, please specify a contract address', undefined],
  ['query returned more than 10000 results; name fewer addresses', undefined],
] as const)
  test(`"${message}" is a cap of ${addressesMax} addresses`, () => {
    const found = read({ code: -32_602, message }, ASKED)
    assert.deepEqual([found.kind, found.addressesMax], ['too-large', addressesMax])
  })

const units =
  '7 days|24 hours|30 minutes|10 seconds|10s|500ms|150 MB|150MB|4KiB|900 bytes|50 addresses|4 topics|10k logs|2,000 events|20 transactions'
for (const amount of units.split('|'))
  test(`"${amount}" in a refusal is no number of blocks`, () => {
    for (const words of [
      `block range exceeds the limit of ${amount}`,
      `maximum ${amount} allowed for this range of blocks`,
      `block range too large: max ${amount}; narrow fromBlock 5000`,
    ]) {
      const { kind, blocksMax } = read({ code: -32_000, message: words }, ASKED)
      assert.deepEqual([kind, blocksMax], ['too-large', undefined], words)
    }
    const both = `limit of ${amount} or 2000 blocks, whichever range is smaller`
    assert.equal(read({ code: -32_000, message: both }, ASKED).blocksMax, 2_000)
  })

test('an inverted range with a cap of blocks is too large all the same', () => {
  const message = 'invalid block range: 16000 exceeds the maximum of 1000 blocks'
  assert.equal(read({ code: -32_602, message }, ASKED).blocksMax, 1_000)
})

test('a cap read from a text never shrinks a range by only a few blocks, whatever numbers the text repeats', () => {
  for (const { error } of texts)
    for (const asked of [7, 100, 2_000, 16_000])
      for (const echo of [asked - 2, asked - 1, asked, asked + 1]) {
        const told = JSON.parse(JSON.stringify(error).replace(/\b\d[\d,]*\b/g, String(echo)))
        const { blocksMax, blocksThatFit } = read({ ...told, code: -32_000 }, asked)
        for (const blocks of [blocksMax, blocksThatFit])
          assert.ok(blocks === undefined || blocks <= asked * 0.9, `${error.message}: ${blocks}`)
      }
})
