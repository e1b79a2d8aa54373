import { type MicroUsd, type Price, valueAt } from '#base/money.ts'
import type { Context } from '#context.ts'
import type { Connection } from '#db/engine.ts'
import type { PricedToken } from '#ecosystem/ecosystem.ts'
import type { Sums } from '#index/events/sums.ts'
import type { IndexStatus } from '#index/status.ts'
import { priceAt } from './prices/price-book.ts'

export interface ValuedSums extends Sums {
  readonly token: PricedToken
  readonly usdNow: MicroUsd | null
}

/** Null if nothing has a price. */
export async function valueNow<S extends Sums & { readonly token: string }>(
  ctx: Pick<Context, 'ecosystem'>,
  connection: Connection,
  input: {
    readonly status: IndexStatus
    readonly sums: readonly S[]
  },
): Promise<{
  readonly lines: readonly (Omit<S, 'token'> & ValuedSums)[]
  readonly usdNow: MicroUsd | null
  /** Events of tokens that have no price now. */
  readonly unpricedNow: number
}> {
  const { status } = input
  const lines: (Omit<S, 'token'> & ValuedSums)[] = []
  const perToken = new Map<PricedToken, { amount: bigint; readonly price: Price | null }>()
  for (const sums of input.sums) {
    const token = ctx.ecosystem.tokens.find((each) => each.symbol === sums.token)
    if (token === undefined) continue
    const price = await priceAt(ctx, connection, token.symbol, status.asOfUnix)
    lines.push({ ...sums, token, usdNow: worth(token, sums.amount, price) })
    const all = perToken.get(token)
    if (all === undefined) perToken.set(token, { amount: sums.amount, price })
    else all.amount += sums.amount
  }
  // Rounded once per token, so that the total does not depend on the lines.
  const values = [...perToken].map(([token, { amount, price }]) => worth(token, amount, price))
  const unpriced = lines.filter((line) => line.usdNow === null)
  const unpricedNow = unpriced.reduce((sum, { events }) => sum + events, 0)
  return { lines, usdNow: addDollars(values), unpricedNow }
}

function worth(token: PricedToken, amount: bigint, price: Price | null): MicroUsd | null {
  return price === null ? null : valueAt(amount, token.decimals, price)
}

/** Null if there are values but none is known. */
export function addDollars(values: readonly (MicroUsd | null)[]): MicroUsd | null {
  const known = values.filter((value) => value !== null)
  if (known.length === 0 && values.length > 0) return null
  return known.reduce((sum, value) => sum + value, 0n)
}
