import type { Address } from '#base/address.ts'
import { formatDecimal, type MicroUsd, toUsd, toUsdPrice, valueAt } from '#base/money.ts'
import { unixNow } from '#base/time.ts'
import type { Context } from '#context.ts'
import { readBalanceAt } from '#data/holders/queries.ts'
import { areHoldersKnown } from '#data/meta.ts'
import { averagePrice } from '#data/prices/price-book.ts'
import type { Chain, HoldingGate, PricedToken } from '#ecosystem/ecosystem.ts'
import {
  type ChainStatus,
  type IndexStatus,
  judgeCondition,
  readIndexStatus,
} from '#index/status.ts'

export type Judged = Pick<Context, 'register' | 'ecosystem' | 'clock'>

/** Unavailable while the index is. */
export type Holdings =
  | {
      readonly kind: 'ready'
      readonly heldUsd: MicroUsd
      readonly tokens: readonly HeldToken[]
    }
  | { readonly kind: 'unavailable'; readonly message: string }

interface HeldToken {
  readonly symbol: string
  readonly amount: string
  readonly priceUsd: number
  readonly valueUsd: number
}

/**
 * Judges from our own index at a deep enough block, at a time-weighted price that one pumped block
 * cannot move. No RPC call.
 */
export function readHoldings(ctx: Judged, gate: HoldingGate, wallet: Address): Promise<Holdings> {
  const { primary, secondary, chains, tokens: listed } = ctx.ecosystem
  const { chain, averagePriceMinutes, depthBlocks } = gate
  const unavailable = (message: string) => ({ kind: 'unavailable', message }) as const
  return ctx.register.snapshot(async (connection) => {
    const held = secondary === null ? [primary] : [primary, secondary]
    const status = liveChain(ctx, await readIndexStatus(connection, chains), {
      chain,
      tokens: held,
    })
    if (status === undefined) return unavailable(`The index of ${chain.name} is not up to date.`)
    const untilUnix = status.blockTimeUnix
    const window = { fromUnix: untilUnix - averagePriceMinutes * 60, untilUnix }
    const tokens: HeldToken[] = []
    let heldUsd = 0n
    for (const { symbol, decimals } of held) {
      const average = await averagePrice(connection, listed, { symbol, window })
      if ('gap' in average)
        return unavailable(
          `The price of ${symbol} is unknown (${average.gap} of ${average.symbol}).`,
        )
      const balance = await readBalanceAt(connection, {
        token: symbol,
        address: wallet,
        chainId: chain.id,
        blockNumber: status.blockNumber - depthBlocks,
      })
      const value = valueAt(balance, decimals, average.price)
      const amount = formatDecimal(balance, decimals)
      tokens.push({ symbol, amount, priceUsd: toUsdPrice(average.price), valueUsd: toUsd(value) })
      heldUsd += value
    }
    return { kind: 'ready', heldUsd, tokens }
  })
}

/** Undefined if the chain is stale or a balance unknown, so that neither ever decides. */
export function liveChain(
  { clock }: Pick<Context, 'clock'>,
  index: IndexStatus | undefined,
  of: { readonly chain: Chain; readonly tokens: readonly PricedToken[] },
): ChainStatus | undefined {
  if (!index || !of.tokens.every((token) => areHoldersKnown(index, token, of.chain.id)))
    return undefined
  const status = index.chains.find((each) => each.chain.id === of.chain.id)
  return status && judgeCondition(status, unixNow(clock)) === 'live' ? status : undefined
}
