import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type Address, encodeFunctionData, parseAbi, zeroAddress } from 'viem'
import { accounts } from '#devnet/addresses.ts'
import type { PriceFile } from '#ecosystem/price-kinds.ts'
import { deployContract, transact } from '#test/deploy-contract.ts'
import { localEcosystemAt, openSource } from '#test/indexed-ecosystem.ts'
import { Refused, startLyingNode } from '#test/lying-node.ts'
import { startOwnDevnet } from '#test/start-own-devnet.ts'
import { proveEcosystem } from './prove-ecosystem.ts'

const devnet = await startOwnDevnet()
after(() => devnet.stop())
const { base, ethereum } = devnet.chains
const { grave, weth, ethUsdFeed, distributor } = base.client.addresses
const { gravePair } = base.client.addresses.market ?? { gravePair: '0x' }

function deploy(name: string, ...values: readonly (Address | boolean)[]): Promise<Address> {
  return deployContract(base.client, name, values)
}

/** What the proof says of these prices of GRAVE; WETH's is the feed. */
async function proofOf(prices: PriceFile | PriceFile[], url = base.rpcUrl): Promise<string> {
  const ecosystem = localEcosystemAt({ base: url, ethereum: ethereum.rpcUrl }, (file) => ({
    ...file,
    gate: 'open',
    tokens: file.tokens.map((token) =>
      token.symbol === 'GRAVE' ? { ...token, price: prices } : token,
    ),
  }))
  return proveEcosystem(ecosystem, openSource).then(
    (warnings) => warnings.map(({ field, message }) => `warning ${field}: ${message}`).join('\n'),
    (error: Error) => `${error.name} ${error.message}`,
  )
}

const common = { chain: 'base', quote: 'WETH' } as const

test('a pool given as one of another dialect is refused, since it emits other events', async () => {
  const address = await deploy('SolidlyPair', weth, grave, false)
  const abi = parseAbi(['function sync()'])
  const data = encodeFunctionData({ abi, functionName: 'sync' })
  await transact(base.client, { from: accounts.operator, to: address, data })
  assert.match(
    await proofOf({ ...common, kind: 'uniswap-v2', address }),
    /^ProofError tokens\[0\]\.price\.address: .* has not emitted Sync\(uint112,uint112\), which prices of kind "uniswap-v2" .*; correct the kind or the address$/,
  )
})

test('a feed is proven by the events of its aggregator, at a proxy as at the aggregator itself', async () => {
  const feed = { kind: 'chainlink', chain: 'base', decimals: 8 } as const
  assert.equal(await proofOf({ ...feed, address: await deploy('FeedProxy', ethUsdFeed) }), '')
  assert.equal(await proofOf({ ...feed, address: ethUsdFeed }), '')
  const said = await proofOf({ ...feed, address: await deploy('FeedProxy', distributor) })
  assert.match(said, /has not emitted AnswerUpdated.* since block 0; correct/)
  const other = await proofOf({ ...feed, address: await deploy('FeedProxy', weth) })
  assert.match(
    other,
    /price\.address: .*, 0x42.* has other decimals than its 8; write a list of prices/,
  )
  const empty = await proofOf({ ...feed, address: await deploy('FeedProxy', zeroAddress) })
  assert.match(empty, /^ProofError tokens\[0\]\.price\.address: .* names no aggregator/)
})

test('each source of a list is proven, and named by its place', async () => {
  const address = await deploy('SolidlyPair', grave, weth, false)
  const said = await proofOf([
    { ...common, kind: 'uniswap-v2', address: gravePair },
    { ...common, kind: 'uniswap-v2', address, since: 1_000 },
  ])
  assert.match(said, /^ProofError tokens\[0\]\.price\[1\]\.address: .* has not emitted/)
})

test('a source without an event in the blocks that a node serves is accepted with a warning', async () => {
  const node = await startLyingNode(base.rpcUrl)
  try {
    node.lie = ({ method, params }, result) => {
      if (method !== 'eth_getLogs') return result
      const [{ fromBlock, toBlock }] = params as [{ fromBlock: string; toBlock: string }]
      if (Number(toBlock) - Number(fromBlock) >= 2)
        throw new Refused('the range is limited to 2 blocks', -32_005)
      return []
    }
    const said = await proofOf({ ...common, kind: 'uniswap-v2', address: gravePair }, node.url)
    assert.match(
      said,
      /^warning tokens\[0\]\.price: Sync\(uint112,uint112\) was not found at the contract at 0x/,
    )
    assert.match(
      said,
      /only blocks \d+ to \d+ could be searched \(24 requests reached no further\)/,
    )
    const asked = node.methods.filter((method) => method === 'eth_getLogs').length
    assert.equal(asked, 3 * 24)
  } finally {
    await node.stop()
  }
})
