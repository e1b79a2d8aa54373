import { type Address, type Hex, toHex } from 'viem'
import { accounts, type MarketAddresses, namedAddresses } from '#devnet/addresses.ts'
import { calls } from '#devnet/calls.ts'
import { type ChainClient, sendTransaction } from '#devnet/chain-client.ts'
import { traders } from '#devnet/people.ts'

/**
 * The first block takes the pending transactions. `secondsApart` defaults to 2. For chains started
 * with `live: false`.
 */
export async function mine(
  chain: ChainClient,
  input: { readonly blocks: number; readonly secondsApart?: number },
): Promise<void> {
  await chain.rpc.send({
    method: 'anvil_mine',
    params: [toHex(input.blocks), toHex(input.secondsApart ?? 2)],
  })
}

/**
 * Replaces the newest blocks by empty ones. Restores the contracts' code, which anvil 1.7.1 loses
 * in a plain `anvil_reorg` below the block that a saved chain was loaded at.
 */
export async function reorg(chain: ChainClient, input: { readonly depth: number }): Promise<void> {
  const contracts = Object.values(namedAddresses(chain.addresses))
  const askCode = contracts.map((contract) => ({
    method: 'eth_getCode',
    params: [contract, 'latest'],
  }))
  const before = await chain.rpc.sendBatch(askCode)
  await whileStill(chain, (added) =>
    chain.rpc.send({ method: 'anvil_reorg', params: [input.depth + added, []] }),
  )
  const after = await chain.rpc.sendBatch(askCode)
  const lost = contracts.flatMap((contract, index) =>
    after[index] === before[index] ? [] : [[contract, before[index]]],
  )
  await chain.rpc.sendBatch(lost.map((params) => ({ method: 'anvil_setCode', params })))
}

/**
 * Stops a live chain meanwhile: anvil 1.7.1 loses blocks when a reorg and a new block meet. The
 * block added here is mined after one that is under way.
 */
async function whileStill(
  chain: ChainClient,
  act: (added: number) => Promise<unknown>,
): Promise<void> {
  const seconds = await chain.rpc.send({ method: 'anvil_getIntervalMining', params: [] })
  if (typeof seconds !== 'number') {
    await act(0)
    return
  }
  await chain.rpc.send({ method: 'evm_setIntervalMining', params: [0] })
  try {
    await chain.rpc.send({ method: 'evm_mine', params: [] })
    await act(1)
  } finally {
    await chain.rpc.send({ method: 'evm_setIntervalMining', params: [seconds] })
  }
}

/** On: one block per transaction; off: only `mine` makes blocks. */
export async function setAutomine(chain: ChainClient, on: boolean): Promise<void> {
  await chain.rpc.send({ method: 'evm_setAutomine', params: [on] })
}

type Token = 'grave' | 'crypt' | 'usdc' | 'weth'
type Ticker = 'grave' | 'crypt'

/** In base units; `from` defaults to the operator. */
export function transfer(
  chain: ChainClient,
  input: { readonly token: Token; readonly from?: Address; readonly to: Address; amount: bigint },
): Promise<Hex> {
  const from = input.from ?? accounts.operator
  return sendTransaction(
    chain,
    calls.transfer({ ...input, from, token: chain.addresses[input.token] }),
  )
}

export function burn(
  chain: ChainClient,
  input: { readonly token: Ticker; readonly from: Address; readonly amount: bigint },
): Promise<Hex> {
  return sendTransaction(chain, calls.burn({ ...input, token: chain.addresses[input.token] }))
}

export function distribute(
  chain: ChainClient,
  input: { readonly token: 'grave' | 'usdc' | 'weth'; readonly amount: bigint },
): Promise<Hex> {
  const { addresses } = chain
  const token = addresses[input.token]
  const from = accounts.operator
  const { amount } = input
  return sendTransaction(
    chain,
    calls.distribute({ distributor: addresses.distributor, from, token, amount }),
  )
}

/** From what rounds left undistributed. */
export async function claimDividend(
  chain: ChainClient,
  input: { readonly token: 'grave' | 'usdc' | 'weth'; readonly account: Address; amount: bigint },
): Promise<Hex> {
  const { distributor } = chain.addresses
  const token = chain.addresses[input.token]
  const { account, amount } = input
  const from = accounts.operator
  await sendTransaction(
    chain,
    calls.credit({ distributor, from, token, accounts: [account], amounts: [amount] }),
  )
  return sendTransaction(chain, calls.claim({ distributor, account, token, amount }))
}

export function dig(
  chain: ChainClient,
  input: { readonly digger: Address; readonly amount: bigint },
): Promise<Hex> {
  return sendTransaction(chain, calls.dig({ graveyard: chain.addresses.graveyard, ...input }))
}

/** `amountIn` is in the token paid in. */
export function swap(
  chain: ChainClient,
  input: {
    readonly token: Ticker
    readonly side: 'buy' | 'sell'
    readonly amountIn: bigint
    readonly trader?: Address
  },
): Promise<Hex> {
  const market = marketOf(chain)
  const pair = input.token === 'grave' ? market.gravePair : market.cryptPair
  const tokenIn = chain.addresses[input.side === 'buy' ? 'weth' : input.token]
  const trader = input.trader ?? traders[0] ?? accounts.operator
  const { amountIn } = input
  return sendTransaction(
    chain,
    calls.swap({ router: market.router, trader, pair, tokenIn, amountIn }),
  )
}

/** USD with 8 decimals. */
export function updateFeed(chain: ChainClient, input: { readonly answer: bigint }): Promise<Hex> {
  const { answer } = input
  const from = accounts.operator
  return sendTransaction(
    chain,
    calls.submitPrice({ feed: chain.addresses.ethUsdFeed, from, answer }),
  )
}

export function payUsdc(
  chain: ChainClient,
  input: { readonly from: Address; readonly to: Address; readonly amount: bigint },
): Promise<Hex> {
  return transfer(chain, { ...input, token: 'usdc' })
}

export function mintUsdc(
  chain: ChainClient,
  input: { readonly to: Address; readonly amount: bigint },
): Promise<Hex> {
  const token = chain.addresses.usdc
  return sendTransaction(chain, calls.mint({ ...input, token, from: accounts.operator }))
}

function marketOf(chain: ChainClient): MarketAddresses {
  if (chain.addresses.market === undefined) throw new Error(`${chain.name} has no market`)
  return chain.addresses.market
}
