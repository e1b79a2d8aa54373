import type { Address } from '#base/address.ts'
import { formatDecimal, type MicroUsd, toUsd, toUsdPrice, valueAt } from '#base/money.ts'
import { unixNow } from '#base/time.ts'
import type { Context } from '#context.ts'
import { readBalanceAt } from '#data/holders/queries.ts'
import { areHoldersKnown } from '#data/meta.ts'
import { averagePrice, type UnknownPrice } from '#data/prices/price-book.ts'
import type { Connection } from '#db/engine.ts'
import type { Chain, HoldingGate, PricedToken } from '#ecosystem/ecosystem.ts'
import { type ChainStatus, conditionOf, type IndexStatus, readIndexStatus } from '#index/status.ts'

/** What judges wallets by what they hold. */
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
  /** Token units. */
  readonly amount: string
  readonly priceUsd: number
  readonly valueUsd: number
}

/**
 * Judges from our own index at a deep enough block, at a time-weighted price that one pumped block
 * cannot move. No RPC call.
 */
export function readHoldings(ctx: Judged, gate: HoldingGate, wallet: Address): Promise<Holdings> {
  const { primary, secondary } = ctx.ecosystem
  return ctx.register.snapshot(async (connection) => {
    const held = secondary === null ? [primary] : [primary, secondary]
    const status = liveChain(ctx, await readIndexStatus(connection, ctx.ecosystem.chains), {
      chain: gate.chain,
      tokens: held,
    })
    if (status === undefined)
      return { kind: 'unavailable', message: `The index of ${gate.chain.name} is not up to date.` }
    const tokens: HeldToken[] = []
    let heldUsd = 0n
    for (const token of held) {
      const valued = await valueHeld(connection, { ctx, gate, status, wallet, token })
      if ('gap' in valued)
        return {
          kind: 'unavailable',
          message: `The price of ${token.symbol} is unknown (${valued.gap} of ${valued.symbol}).`,
        }
      tokens.push(valued.shown)
      heldUsd += valued.value
    }
    return { kind: 'ready', heldUsd, tokens }
  })
}

/** Undefined if the chain is stale or a balance unknown, so that neither ever decides. */
export function liveChain(
  { clock }: Pick<Context, 'clock'>,
  index: IndexStatus | undefined,
  of: {
    readonly chain: Chain
    readonly tokens: readonly PricedToken[]
  },
): ChainStatus | undefined {
  if (index === undefined) return undefined
  if (!of.tokens.every((token) => areHoldersKnown(index, token, of.chain.id))) return undefined
  const status = index.chains.find((each) => each.chain.id === of.chain.id)
  if (status === undefined) return undefined
  return conditionOf(status, unixNow(clock)) === 'live' ? status : undefined
}

async function valueHeld(
  connection: Connection,
  input: {
    readonly ctx: Judged
    readonly gate: HoldingGate
    readonly status: ChainStatus
    readonly wallet: Address
    readonly token: PricedToken
  },
): Promise<{ readonly value: MicroUsd; readonly shown: HeldToken } | UnknownPrice> {
  const { ctx, gate, status, wallet, token } = input
  const average = await averagePrice(connection, ctx.ecosystem.tokens, {
    symbol: token.symbol,
    window: {
      fromUnix: status.blockTimeUnix - gate.averagePriceMinutes * 60,
      untilUnix: status.blockTimeUnix,
    },
  })
  if ('gap' in average) return average
  const { price } = average
  const balance = await readBalanceAt(connection, {
    token: token.symbol,
    address: wallet,
    chainId: gate.chain.id,
    blockNumber: status.blockNumber - gate.depthBlocks,
  })
  const value = valueAt(balance, token.decimals, price)
  const shown = {
    symbol: token.symbol,
    amount: formatDecimal(balance, token.decimals),
    priceUsd: toUsdPrice(price),
    valueUsd: toUsd(value),
  }
  return { value, shown }
}
