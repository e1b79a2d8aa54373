import type { Address } from 'viem'

/** The reserves of a Uniswap v2 pair of a token and wrapped ether, in base units. */
export interface Pool {
  readonly pair: Address
  token: bigint
  weth: bigint
}

/** Gives an empty pool. */
export function createPool(pair: Address): Pool {
  return { pair, token: 0n, weth: 0n }
}

/** What a swap would take and give, in base units. */
export interface Swap {
  readonly side: 'buy' | 'sell'
  readonly amountIn: bigint
  readonly amountOut: bigint
}

/**
 * Gives the swap that moves a pool to a price (wrapped ether for one token), as far as it takes
 * more than nothing; the pair's fee of 0.3 % leaves the price a little short of it.
 */
export function swapTowards(pool: Pool, priceInEther: number): Swap {
  const token = Number(pool.token)
  const weth = Number(pool.weth)
  const wethAfter = Math.sqrt(token * weth * priceInEther)
  if (wethAfter >= weth) return exactIn(pool, 'buy', wholeUnits(wethAfter - weth))
  return exactIn(pool, 'sell', wholeUnits((token * weth) / wethAfter - token))
}

/** Gives the swap of an exact input, by the formula of Uniswap v2 with its fee of 0.3 %. */
function exactIn(pool: Pool, side: 'buy' | 'sell', amountIn: bigint): Swap {
  const [reserveIn, reserveOut] = side === 'buy' ? [pool.weth, pool.token] : [pool.token, pool.weth]
  const withoutFee = amountIn * 997n
  return { side, amountIn, amountOut: (withoutFee * reserveOut) / (reserveIn * 1000n + withoutFee) }
}

/** Notes a swap in the reserves. */
export function applySwap(pool: Pool, swap: Swap): void {
  const [weth, token] =
    swap.side === 'buy' ? [swap.amountIn, -swap.amountOut] : [-swap.amountOut, swap.amountIn]
  pool.weth += weth
  pool.token += token
}

// A number holds 15 digits of the 24 or so; the rest would be noise.
function wholeUnits(amount: number): bigint {
  return BigInt(Math.round(amount / 1e9)) * 1_000_000_000n
}
