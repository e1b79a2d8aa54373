import { type MicroUsd, valueAt } from '#base/money.ts'
import type { Context } from '#context.ts'
import type { Connection } from '#db/engine.ts'
import type { PricedToken } from '#ecosystem/ecosystem.ts'
import type { Sums } from '#index/events/sums.ts'
import { priceAt } from './prices/price-book.ts'

type Valued<S> = Omit<S, 'token'> & {
  readonly token: PricedToken
  readonly usdNow: MicroUsd | null
}

interface ValuedNow<S> {
  readonly lines: readonly Valued<S>[]
  /** Null if nothing has a price. */
  readonly usdNow: MicroUsd | null
  /** Events of tokens that have no price now. */
  readonly unpricedNow: number
}

export async function valueNow<S extends Sums & { readonly token: string }>(
  ctx: Pick<Context, 'ecosystem'>,
  connection: Connection,
  { asOfUnix, sums }: { readonly asOfUnix: number; readonly sums: readonly S[] },
): Promise<ValuedNow<S>> {
  const lines: Valued<S>[] = []
  const worth: (MicroUsd | null)[] = []
  for (const [symbol, group] of Map.groupBy(sums, (each) => each.token)) {
    const token = ctx.ecosystem.tokens.find((each) => each.symbol === symbol)
    if (token === undefined) continue
    const price = await priceAt(ctx, connection, symbol, asOfUnix)
    const value = (amount: bigint) => price && valueAt(amount, token.decimals, price)
    for (const each of group) lines.push({ ...each, token, usdNow: value(each.amount) })
    // Rounded once per token, so that the total does not depend on the lines.
    worth.push(value(group.reduce((all, { amount }) => all + amount, 0n)))
  }
  const known = worth.filter((each) => each !== null)
  return {
    lines,
    usdNow: known.length < 1 && worth.length > 0 ? null : known.reduce((a, b) => a + b, 0n),
    unpricedNow: lines.reduce((all, { usdNow, events }) => all + (usdNow === null ? events : 0), 0),
  }
}
