import { HOLDERS, PRICES } from '#chains/datasets/dataset-names.ts'
import { readStatus } from '#chains/datasets/file-parts.ts'
import { readBalanceAt, readSupplyAt } from '#chains/datasets/holders/queries.ts'
import { areHoldersKnown, isWhole } from '#chains/datasets/meta.ts'
import { averagePrice } from '#chains/datasets/prices/average-price.ts'
import type { UnknownPrice } from '#chains/datasets/prices/price-paths.ts'
import type { Chain, HoldingGate, PricedToken, SupplyShare } from '#chains/ecosystem/ecosystem.ts'
import { type ChainStatus, conditionOf } from '#chains/indexer/status.ts'
import type { Context } from '#context.ts'
import type { Address } from '#domain/address.ts'
import { type MicroUsd, toUsd, toUsdPrice, valueAt } from '#domain/money.ts'
import { type ShareTier, shareTiers, type WalletTier } from '#domain/tier.ts'
import { formatDecimal } from '#lib/decimal.ts'
import { unixNow } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'

type Judged = Pick<Context, 'register' | 'ecosystem' | 'clock'>

/** Unavailable while the index is. */
export type Holdings =
  | {
      readonly kind: 'ready'
      readonly heldUsd: MicroUsd
      readonly tokens: readonly HeldToken[]
    }
  | { readonly kind: 'unavailable'; readonly message: string }

export interface HeldToken {
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
    const status = await liveStatus(ctx, connection, {
      chain: gate.chain,
      datasets: [HOLDERS, PRICES],
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
async function liveStatus(
  ctx: Judged,
  connection: Connection,
  {
    chain,
    datasets,
    tokens,
  }: {
    readonly chain: Chain
    readonly datasets: readonly string[]
    readonly tokens: readonly PricedToken[]
  },
): Promise<ChainStatus | undefined> {
  const index = await readStatus(ctx, connection)
  if (index === undefined || !isWhole(index, datasets)) return undefined
  if (!tokens.every((token) => areHoldersKnown(index, token, chain.id))) return undefined
  const status = index.chains.find((each) => each.chain.id === chain.id)
  if (status === undefined) return undefined
  return conditionOf(status, unixNow(ctx.clock)) === 'live' ? status : undefined
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

/** The highest tier of each wallet; omits those that cannot be judged while a chain is not live. */
export async function readTiers(
  ctx: Judged,
  wallets: readonly Address[],
): Promise<ReadonlyMap<Address, WalletTier>> {
  const shares = shareTiers.flatMap(({ name }) => {
    const share = ctx.ecosystem[name]
    return share === null ? [] : [{ name, share }]
  })
  // A stored tier that is no longer configured must not outlive an unreadable register.
  if (shares.length === 0) return new Map(wallets.map((wallet) => [wallet, 'free']))
  return ctx.register.snapshot(async (connection) => {
    const judged = new Map<Address, WalletTier>()
    const open = new Set(wallets)
    for (const { name, share } of shares.toReversed()) {
      const holders = await holdersOf(ctx, connection, { share, wallets: [...open] })
      if (holders === undefined) return judged
      for (const wallet of holders) {
        judged.set(wallet, name)
        open.delete(wallet)
      }
    }
    for (const wallet of open) judged.set(wallet, 'free')
    return judged
  })
}

export interface ShareHeld {
  readonly tier: ShareTier
  readonly symbol: string
  /** Token units. */
  readonly held: string
  readonly needed: string
  readonly reached: boolean
}

/** What a wallet holds of what each tier asks for; undefined if a chain is not live. */
export function readShares(
  ctx: Judged,
  wallet: Address,
): Promise<readonly ShareHeld[] | undefined> {
  return ctx.register.snapshot(async (connection) => {
    const shares: ShareHeld[] = []
    for (const { name } of shareTiers) {
      const share = ctx.ecosystem[name]
      if (share === null) continue
      const read = await balancesOf(ctx, connection, { share, wallets: [wallet] })
      if (read === undefined) return undefined
      const held = read.balances.get(wallet) ?? 0n
      const { symbol, decimals } = share.token
      shares.push({
        tier: name,
        symbol,
        held: formatDecimal(held, decimals),
        // Round up, so that this many base units are enough.
        needed: formatDecimal((read.needed + 999n) / 1_000n, decimals),
        reached: reaches(held, read.needed),
      })
    }
    return shares
  })
}

/** Undefined if the chain is not live. */
async function holdersOf(
  ctx: Judged,
  connection: Connection,
  input: { readonly share: SupplyShare; readonly wallets: readonly Address[] },
): Promise<readonly Address[] | undefined> {
  const read = await balancesOf(ctx, connection, input)
  if (read === undefined) return undefined
  const { balances, needed } = read
  return input.wallets.filter((wallet) => reaches(balances.get(wallet) ?? 0n, needed))
}

/** `needed` is in thousandths of a base unit. */
function reaches(balance: bigint, needed: bigint): boolean {
  return balance > 0n && balance * 1_000n >= needed
}

/** Balances and `share` × total supply at one deep block; undefined if the chain is not live. */
async function balancesOf(
  ctx: Judged,
  connection: Connection,
  { share, wallets }: { readonly share: SupplyShare; readonly wallets: readonly Address[] },
) {
  const { chain, token, supplyPerMille, depthBlocks } = share
  const status = await liveStatus(ctx, connection, { chain, datasets: [HOLDERS], tokens: [token] })
  if (status === undefined) return undefined
  const at = {
    token: token.symbol,
    chainId: chain.id,
    blockNumber: status.blockNumber - depthBlocks,
  }
  const needed = BigInt(supplyPerMille) * (await readSupplyAt(connection, at))
  const balances = new Map<Address, bigint>()
  for (const address of wallets)
    balances.set(address, await readBalanceAt(connection, { ...at, address }))
  return { balances, needed }
}
