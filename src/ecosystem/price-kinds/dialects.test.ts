import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  type Address,
  encodeAbiParameters,
  encodeFunctionData,
  parseAbi,
  parseAbiItem,
  toEventSelector,
} from 'viem'
import { compilePriceReader } from '#data/prices/dataset.ts'
import { mintUsdc } from '#devnet/actions.ts'
import { accounts } from '#devnet/addresses.ts'
import { calls } from '#devnet/calls.ts'
import { proveEcosystem } from '#ops/checks/prove-ecosystem.ts'
import { findReading } from '#ops/checks/prove-prices.ts'
import { deployContract, transact } from '#test/deploy-contract.ts'
import { localEcosystemAt, openSource } from '#test/indexed-ecosystem.ts'
import { startOwnDevnet } from '#test/start-own-devnet.ts'
import type { Ecosystem } from '../ecosystem.ts'
import type { PriceFile } from '../price-kinds.ts'
import { findPair } from '../priced-token.ts'

const devnet = await startOwnDevnet()
after(() => devnet.stop())
const { base, ethereum } = devnet.chains
const { crypt, usdc, weth } = base.client.addresses
const from = accounts.operator
const ONE = 10n ** 18n
const zeroAddress = `0x${'0'.repeat(40)}` as const

const ecosystemWith = (price: PriceFile) =>
  localEcosystemAt({ base: base.rpcUrl, ethereum: ethereum.rpcUrl }, (file) => ({
    ...file,
    gate: 'open',
    tokens: file.tokens.map((token) => (token.symbol === 'CRYPT' ? { ...token, price } : token)),
  }))

function seriesOf(ecosystem: Ecosystem, symbol = 'CRYPT') {
  const { tokens } = ecosystem
  const token = tokens.find((each) => each.symbol === symbol)
  const source = token?.prices[0]
  assert.ok(token !== undefined && source !== undefined && source.chain !== null)
  return { ...findPair(tokens, token, source), source, until: [] }
}

/** What the newest event says of a token, whole and in quotes. */
async function readingIn(ecosystem: Ecosystem, symbol: string) {
  const { source, ...pair } = seriesOf(ecosystem, symbol)
  const head = Number(await base.client.rpc.send({ method: 'eth_blockNumber' }))
  const found = await findReading(openSource(source.chain), { price: source, pair, head })
  assert.equal(found.kind, 'read')
  const { price: inQuote, liquidity } = found.reading
  return { price: Number(inQuote) / 1e54, liquidity }
}

/** What it says of CRYPT, once the file is proven. */
async function readingOf(price: PriceFile) {
  await proveEcosystem(ecosystemWith(price), openSource)
  return readingIn(ecosystemWith(price), 'CRYPT')
}

const abi = parseAbi([
  'function sync()',
  'function swap()',
  'function exchange()',
  'function getAmountOut(uint256, address) view returns (uint256)',
])

const act = (to: Address, functionName: 'sync' | 'swap' | 'exchange') =>
  transact(base.client, { from, to, data: encodeFunctionData({ abi, functionName }) })

async function amountOut(pool: Address, amount: bigint, token: Address): Promise<number> {
  const data = encodeFunctionData({ abi, functionName: 'getAmountOut', args: [amount, token] })
  const answer = await base.client.rpc.send({
    method: 'eth_call',
    params: [{ to: pool, data }, 'latest'],
  })
  return Number(BigInt(String(answer)))
}

async function deploySolidly(stable: boolean): Promise<Address> {
  const pool = await deployContract(base.client, 'SolidlyPair', [crypt, usdc, stable])
  await transact(
    base.client,
    calls.transfer({ token: crypt, from, to: pool, amount: 1_000n * ONE }),
  )
  await mintUsdc(base.client, { to: pool, amount: 3_000n * 10n ** 6n })
  await act(pool, 'sync')
  return pool
}

for (const stable of [true, false])
  test(`a ${stable ? 'stable' : 'volatile'} pair of Solidly states what a small trade pays`, async () => {
    const address = await deploySolidly(stable)
    const price = { kind: 'solidly', chain: 'base', address, quote: 'USDC', stable } as const
    const paid = (await amountOut(address, ONE / 100n, crypt)) / 1e4
    const found = await readingOf(price)
    assert.ok(Math.abs(found.price / paid - 1) < 1e-4, `${found.price} is not ${paid}`)
    const worth = 3_000e6 + found.price * 1_000e6
    assert.ok(Math.abs(Number(found.liquidity) / worth - 1) < 1e-6)
    await assert.rejects(
      proveEcosystem(ecosystemWith({ ...price, stable: !stable }), openSource),
      new RegExp(`price.stable: .* has ${stable} as stable\\(\\); write ${stable}$`),
    )
  })

test('a pair of Solidly with an empty side has no price', () => {
  const { source, ...pair } = seriesOf(
    ecosystemWith({
      ...{ kind: 'solidly', chain: 'base', quote: 'USDC', address: zeroAddress, stable: true },
    }),
  )
  const empty = source.read({ reserve0: 0n, reserve1: 10n ** 9n }, pair)
  assert.deepEqual(empty, { price: null, liquidity: 0n })
})

test('pools of PancakeSwap v3 and of CryptoSwap are read by their own events', async () => {
  const pancake = await deployContract(base.client, 'PancakeV3Pool', [crypt, weth])
  await act(pancake, 'swap')
  const common = { chain: 'base', quote: 'WETH' } as const
  const found = await readingOf({ ...common, kind: 'pancakeswap-v3', address: pancake })
  assert.deepEqual(found, { price: 1, liquidity: 2n * 10n ** 24n })
  const crypto = await deployContract(base.client, 'CryptoSwapPool', [weth, crypt])
  await act(crypto, 'exchange')
  const places = { index: 1, quoteIndex: 0 }
  const traded = await readingOf({ ...common, ...places, kind: 'curve-crypto', address: crypto })
  assert.deepEqual(traded, { price: 1, liquidity: null })
})

test('a pool of Uniswap v4 is told from others of its manager by its key', async () => {
  const manager = await deployContract(base.client, 'V4PoolManager')
  const managerAbi = parseAbi([
    'function swap((address, address, uint24, int24, address) key, uint160 sqrtPriceX96)',
  ])
  const sorted = [crypt, weth].sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1))
  const [first = crypt, second = weth] = sorted
  const swap = (tickSpacing: number, sqrtPriceX96: bigint) => {
    const key = [first, second, 3_000, tickSpacing, zeroAddress] as const
    const args = [key, sqrtPriceX96] as const
    const data = encodeFunctionData({ abi: managerAbi, functionName: 'swap', args })
    return transact(base.client, { from, to: manager, data })
  }
  await swap(60, 2n ** 97n)
  await swap(10, 2n ** 96n)
  const pool = { kind: 'uniswap-v4', chain: 'base', address: manager, quote: 'WETH' } as const
  const found = await readingOf({ ...pool, fee: 3_000, tickSpacing: 60 })
  assert.equal(found.price, first === crypt ? 4 : 0.25)
  assert.equal((await readingOf({ ...pool, fee: 3_000, tickSpacing: 10 })).price, 1)
  await assert.rejects(
    readingOf({ ...pool, fee: 500, tickSpacing: 10 }),
    /has not emitted Swap\(bytes32,.* which prices of kind "uniswap-v4" are read from/,
  )
})

test('a trade in a CryptoSwap pool of the next generation is read in either direction', () => {
  const series = seriesOf(
    ecosystemWith({
      ...{ kind: 'curve-crypto-ng', chain: 'base', quote: 'WETH', address: zeroAddress },
      ...{ index: 2, quoteIndex: 0 },
    }),
  )
  const event = parseAbiItem(
    'event TokenExchange(address indexed buyer, uint256 sold_id, uint256 tokens_sold, uint256 bought_id, uint256 tokens_bought, uint256 fee, uint256 packed_price_scale)',
  )
  const data = event.inputs.slice(1)
  const read = compilePriceReader(series)
  const trade = (...values: readonly [bigint, bigint, bigint, bigint]) =>
    read({
      ...{ chainId: 1, blockNumber: 1, blockHash: '0x', timestamp: 1, txHash: '0x', txIndex: 0 },
      ...{ logIndex: 0, address: zeroAddress },
      topics: [toEventSelector(event), `0x${'0'.repeat(64)}`],
      data: encodeAbiParameters(data, [...values, 7n, 9n]),
    })
  const inWeth = 10n ** 54n / 4n
  assert.deepEqual(trade(0n, ONE, 2n, 4n * ONE), { price: inWeth, liquidity: null })
  assert.deepEqual(trade(2n, 4n * ONE, 0n, ONE), { price: inWeth, liquidity: null })
  assert.equal(trade(1n, ONE, 2n, ONE), undefined)
})

test('shares of a vault have the price that a deposit or a withdrawal pays', async () => {
  const vault = await deployContract(base.client, 'ShareVault', [usdc])
  const vaultAbi = parseAbi([
    'function deposit(uint256, address) returns (uint256)',
    'function redeem(uint256, address, address) returns (uint256)',
  ])
  const send = (data: `0x${string}`) => transact(base.client, { from, to: vault, data })
  const deposit = (amount: bigint) =>
    send(encodeFunctionData({ abi: vaultAbi, functionName: 'deposit', args: [amount, from] }))
  const price = { kind: 'erc4626', chain: 'base', address: vault, quote: 'USDC' } as const
  const ecosystem = (quote: string) =>
    localEcosystemAt({ base: base.rpcUrl, ethereum: ethereum.rpcUrl }, (file) => {
      const { price: _, ...token } =
        file.tokens.find(({ symbol }) => symbol === 'USDC') ?? assert.fail()
      const share = {
        ...token,
        symbol: 'SHARE',
        addresses: { base: vault },
        price: { ...price, quote },
      }
      return { ...file, tokens: [...file.tokens, share] }
    })
  const read = async () => {
    await proveEcosystem(ecosystem('USDC'), openSource)
    return readingIn(ecosystem('USDC'), 'SHARE')
  }
  await mintUsdc(base.client, { to: from, amount: 10n ** 10n })
  await transact(base.client, calls.approveAll({ token: usdc, from, spender: vault }))
  await deposit(10n ** 8n)
  assert.deepEqual(await read(), { price: 1, liquidity: null })
  await mintUsdc(base.client, { to: vault, amount: 5n * 10n ** 7n })
  await deposit(3n * 10n ** 7n)
  assert.ok(Math.abs((await read()).price - 1.5) < 1e-6)
  await mintUsdc(base.client, { to: vault, amount: 6n * 10n ** 7n })
  await send(
    encodeFunctionData({ abi: vaultAbi, functionName: 'redeem', args: [10n ** 7n, from, from] }),
  )
  assert.ok(Math.abs((await read()).price - 2) < 1e-6)
  await assert.rejects(
    proveEcosystem(ecosystem('WETH'), openSource),
    /price.quote: the vault at .* as asset\(\), which is not WETH; write the symbol of its asset/,
  )
})

test('the native coin has the price of what wraps it in a pool, which the file must name', async () => {
  const address = await deploySolidly(false)
  const ecosystem = (more: object) =>
    localEcosystemAt({ base: base.rpcUrl, ethereum: ethereum.rpcUrl }, (file) => {
      const [, , weth] = file.tokens
      assert.ok(weth !== undefined)
      const pool = {
        kind: 'solidly',
        chain: 'base',
        address,
        quote: 'USDC',
        stable: false,
      } as const
      const coin = {
        ...{ ...weth, symbol: 'COIN', addresses: { base: 'native' } },
        price: { ...pool, ...more },
      }
      return { ...file, tokens: [...file.tokens, coin] }
    })
  const named = ecosystem({ wrapped: crypt })
  await proveEcosystem(named, openSource)
  assert.ok(Math.abs((await readingIn(named, 'COIN')).price - 3) < 1e-9)
  await assert.rejects(
    proveEcosystem(ecosystem({}), openSource),
    /price.address: .*name what stands for the coin there in "wrapped"/,
  )
  await assert.rejects(proveEcosystem(ecosystem({ wrapped: weth }), openSource), /price.address: /)
})

test('the native coin is proven without a contract, and a token has its price in a pool with the coin', async () => {
  const pool = await deployContract(base.client, 'CryptoSwapPool', [`0x${'ee'.repeat(20)}`, crypt])
  await act(pool, 'exchange')
  const ecosystem = localEcosystemAt({ base: base.rpcUrl, ethereum: ethereum.rpcUrl }, (file) => {
    const [, , weth] = file.tokens
    assert.ok(weth?.price !== undefined)
    const eth = { ...weth, symbol: 'ETH', addresses: { base: 'native' } }
    const price = { kind: 'curve-crypto', chain: 'base', address: pool, quote: 'ETH' } as const
    const places = { index: 1, quoteIndex: 0 }
    const tokens = file.tokens.map((token) =>
      token.symbol === 'CRYPT' ? { ...token, price: { ...price, ...places } } : token,
    )
    return { ...file, gate: 'open', tokens: [...tokens, eth] }
  })
  await proveEcosystem(ecosystem, openSource)
  assert.equal((await readingIn(ecosystem, 'CRYPT')).price, 1)
})
