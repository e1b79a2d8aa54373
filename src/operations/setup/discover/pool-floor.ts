import type { Pool } from './pools.ts'

export interface Floor {
  /** Member to add to the price in the file. */
  readonly member: { readonly minLiquidityUsd?: string }
  readonly evidence: string
}

/** A pool below it has no price worth a floor. */
const POOL_USD_MIN = 1_000

/** A tenth of what an event shows in the pool, in one significant digit. */
export function floorOf(
  { newest, quote }: Pick<Pool, 'newest' | 'quote'>,
  quoteUsd: number,
): Floor {
  const usd = (Number(newest.reading.liquidity) / 10 ** quote.decimals) * quoteUsd
  const seen = `its event in block ${newest.block} shows about ${Math.round(usd)} USD in it`
  if (usd < POOL_USD_MIN)
    return {
      member: {},
      evidence: `without minLiquidityUsd, since ${seen}: any trade moves its price`,
    }
  const [digit = '', ...rest] = BigInt(Math.floor(usd / 10)).toString()
  return {
    member: { minLiquidityUsd: digit + '0'.repeat(rest.length) },
    evidence: `a tenth of what the pool holds, rounded down: ${seen}`,
  }
}

/** Returns the evidence for a price and for its floor, by path. */
export function describeFloor(
  field: string,
  evidence: string,
  floor: Floor | undefined,
): readonly (readonly [string, string])[] {
  if (floor === undefined) return [[field, evidence]]
  if (floor.member.minLiquidityUsd === undefined) return [[field, `${evidence}; ${floor.evidence}`]]
  return [
    [field, evidence],
    [`${field}.minLiquidityUsd`, floor.evidence],
  ]
}
