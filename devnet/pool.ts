import type { Address } from 'viem'

/** A Uniswap v2 pair of a token and wrapped ether, in base units. */
export interface Pool {
  readonly pair: Address
  token: bigint
  weth: bigint
}

export function createPool(pair: Address): Pool {
  return { pair, token: 0n, weth: 0n }
}

export interface Swap {
  readonly side: 'buy' | 'sell'
  readonly amountIn: bigint
  readonly amountOut: bigint
}

/** Towards a price in wrapped ether per token; the fee of 0.3 % leaves it a little short. */
export function swapTowards(pool: Pool, priceInEther: number): Swap {
  const token = Number(pool.token)
  const weth = Number(pool.weth)
  const wethAfter = Math.sqrt(token * weth * priceInEther)
  if (wethAfter >= weth) return exactIn(pool, 'buy', wholeUnits(wethAfter - weth))
  return exactIn(pool, 'sell', wholeUnits((token * weth) / wethAfter - token))
}

/** Uniswap v2's formula with its fee of 0.3 %. */
function exactIn(pool: Pool, side: 'buy' | 'sell', amountIn: bigint): Swap {
  const [reserveIn, reserveOut] = side === 'buy' ? [pool.weth, pool.token] : [pool.token, pool.weth]
  const withoutFee = amountIn * 997n
  return { side, amountIn, amountOut: (withoutFee * reserveOut) / (reserveIn * 1000n + withoutFee) }
}

export function applySwap(pool: Pool, swap: Swap): void {
  const [weth, token] =
    swap.side === 'buy' ? [swap.amountIn, -swap.amountOut] : [-swap.amountOut, swap.amountIn]
  pool.weth += weth
  pool.token += token
}

// A double holds 15 of about 24 digits.
function wholeUnits(amount: number): bigint {
  return BigInt(Math.round(amount / 1e9)) * 1_000_000_000n
}
