import { type Address, type Hex, toHex } from 'viem'
import { accounts, burnAddress, type MarketAddresses, namedAddresses } from '#devnet/addresses.ts'
import { calls } from '#devnet/calls.ts'
import { type ChainClient, sendTransaction } from '#devnet/chain-client.ts'
import { traders } from '#devnet/people.ts'

/**
 * Ends blocks now; the first takes what has been sent. `secondsApart` (default 2) is the time
 * between them. Needed on a chain that was started with `live: false`.
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
 * Replaces the newest blocks by as many empty ones, which drops what they held.
 * A plain `anvil_reorg` below the block that a saved chain was loaded at would lose all contracts'
 * code (anvil 1.7.1 keeps it apart from the saved past states); this puts it back.
 */
export async function reorg(chain: ChainClient, input: { readonly depth: number }): Promise<void> {
  const contracts = Object.values(namedAddresses(chain.addresses))
  const askCode = contracts.map((contract) => ({
    method: 'eth_getCode',
    params: [contract, 'latest'],
  }))
  const before = await chain.rpc.sendBatch(askCode)
  await chain.rpc.send({ method: 'anvil_reorg', params: [input.depth, []] })
  const after = await chain.rpc.sendBatch(askCode)
  const lost = contracts.flatMap((contract, index) =>
    after[index] === before[index] ? [] : [[contract, before[index]]],
  )
  await chain.rpc.sendBatch(lost.map((params) => ({ method: 'anvil_setCode', params })))
}

/** Switches between a block for every transaction and blocks only when `mine` is called. */
export async function setAutomine(chain: ChainClient, on: boolean): Promise<void> {
  await chain.rpc.send({ method: 'evm_setAutomine', params: [on] })
}

type Token = 'grave' | 'crypt' | 'usdc' | 'weth'
type Ticker = 'grave' | 'crypt'

/** Sends tokens (base units); from the operator, who has plenty of each, unless said otherwise. */
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

/** Burns tokens to the zero address. */
export function burn(
  chain: ChainClient,
  input: { readonly token: Ticker; readonly from: Address; readonly amount: bigint },
): Promise<Hex> {
  return sendTransaction(chain, calls.burn({ ...input, token: chain.addresses[input.token] }))
}

/** Sends tokens to the burn address 0x…dEaD. */
export function burnToDead(
  chain: ChainClient,
  input: { readonly token: Ticker; readonly from: Address; readonly amount: bigint },
): Promise<Hex> {
  return transfer(chain, { ...input, to: burnAddress })
}

/** Funds a round of dividends. */
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

/** Credits an account with a dividend from what rounds have left over, and claims it. */
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

/** Digs a grave for up to 50,000 GRAVE. */
export function dig(
  chain: ChainClient,
  input: { readonly digger: Address; readonly amount: bigint },
): Promise<Hex> {
  return sendTransaction(chain, calls.dig({ graveyard: chain.addresses.graveyard, ...input }))
}

/** Trades a token against wrapped ether on base; the amount is of what is paid in. */
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

/** Writes a new ETH price, USD with 8 decimals. */
export function updateFeed(chain: ChainClient, input: { readonly answer: bigint }): Promise<Hex> {
  const { answer } = input
  const from = accounts.operator
  return sendTransaction(
    chain,
    calls.submitPrice({ feed: chain.addresses.ethUsdFeed, from, answer }),
  )
}

/** Pays USDC (6 decimals). */
export function payUsdc(
  chain: ChainClient,
  input: { readonly from: Address; readonly to: Address; readonly amount: bigint },
): Promise<Hex> {
  return transfer(chain, { ...input, token: 'usdc' })
}

/** Makes new USDC (6 decimals) for an account. */
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
