import { HOLDERS, PRICES } from '#chains/datasets/dataset-names.ts'
import { readBalanceAt, readSupplyAt } from '#chains/datasets/holders/queries.ts'
import type { DollarPrices } from '#chains/datasets/prices/price-book.ts'
import type { UnknownPrice } from '#chains/datasets/prices/price-paths.ts'
import { isWhole } from '#chains/datasets/reindexing.ts'
import { areHoldersKnown } from '#chains/datasets/unknown.ts'
import type {
  Chain,
  Ecosystem,
  HoldingGate,
  PricedToken,
  SupplyShare,
} from '#chains/ecosystem/ecosystem.ts'
import type { FileParts } from '#chains/indexer/indexed-config/file-part.ts'
import { type ChainStatus, conditionOf, readIndexStatus } from '#chains/indexer/status.ts'
import type { Address } from '#domain/address.ts'
import { type MicroUsd, toUsd, toUsdPrice, valueAt } from '#domain/money.ts'
import { type ShareTier, shareTiers, type WalletTier } from '#domain/tier.ts'
import { formatDecimal } from '#lib/decimal.ts'
import { type Clock, unixNow } from '#lib/time.ts'
import type { Connection, Engine } from '#store/engine.ts'

export interface HoldingsDeps {
  readonly register: Engine
  readonly ecosystem: Ecosystem
  readonly prices: DollarPrices
  readonly clock: Clock
  readonly file: FileParts
}

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
export function readHoldings(
  deps: HoldingsDeps,
  gate: HoldingGate,
  wallet: Address,
): Promise<Holdings> {
  const { primary, secondary } = deps.ecosystem
  return deps.register.snapshot(async (connection) => {
    const held = secondary === null ? [primary] : [primary, secondary]
    const status = await liveStatus(connection, deps, {
      chain: gate.chain,
      datasets: [HOLDERS, PRICES],
      tokens: held,
    })
    if (status === undefined)
      return { kind: 'unavailable', message: `The index of ${gate.chain.name} is not up to date.` }
    const tokens: HeldToken[] = []
    let heldUsd = 0n
    for (const token of held) {
      const valued = await valueHeld(connection, { deps, gate, status, wallet, token })
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
  connection: Connection,
  deps: HoldingsDeps,
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
  const index = await readIndexStatus(connection, deps.ecosystem.chains, deps.file)
  if (index === undefined || !isWhole(index, deps.file, datasets)) return undefined
  if (!tokens.every((token) => areHoldersKnown(index, token, chain.id))) return undefined
  const status = index.chains.find((each) => each.chain.id === chain.id)
  if (status === undefined) return undefined
  return conditionOf(status, unixNow(deps.clock)) === 'live' ? status : undefined
}

async function valueHeld(
  connection: Connection,
  input: {
    readonly deps: HoldingsDeps
    readonly gate: HoldingGate
    readonly status: ChainStatus
    readonly wallet: Address
    readonly token: PricedToken
  },
): Promise<{ readonly value: MicroUsd; readonly shown: HeldToken } | UnknownPrice> {
  const { deps, gate, status, wallet, token } = input
  const average = await deps.prices.average(connection, token.symbol, {
    fromUnix: status.blockTimeUnix - gate.averagePriceMinutes * 60,
    untilUnix: status.blockTimeUnix,
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
  deps: HoldingsDeps,
  wallets: readonly Address[],
): Promise<ReadonlyMap<Address, WalletTier>> {
  const shares = shareTiers.flatMap(({ name }) => {
    const share = deps.ecosystem[name]
    return share === null ? [] : [{ name, share }]
  })
  // A stored tier that is no longer configured must not outlive an unreadable register.
  if (shares.length === 0) return new Map(wallets.map((wallet) => [wallet, 'free']))
  return deps.register.snapshot(async (connection) => {
    const judged = new Map<Address, WalletTier>()
    const open = new Set(wallets)
    for (const { name, share } of shares.toReversed()) {
      const holders = await holdersOf(connection, deps, { share, wallets: [...open] })
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
  deps: HoldingsDeps,
  wallet: Address,
): Promise<readonly ShareHeld[] | undefined> {
  return deps.register.snapshot(async (connection) => {
    const shares: ShareHeld[] = []
    for (const { name } of shareTiers) {
      const share = deps.ecosystem[name]
      if (share === null) continue
      const read = await balancesOf(connection, deps, { share, wallets: [wallet] })
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
  connection: Connection,
  deps: HoldingsDeps,
  input: { readonly share: SupplyShare; readonly wallets: readonly Address[] },
): Promise<readonly Address[] | undefined> {
  const read = await balancesOf(connection, deps, input)
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
  connection: Connection,
  deps: HoldingsDeps,
  { share, wallets }: { readonly share: SupplyShare; readonly wallets: readonly Address[] },
) {
  const { chain, token, supplyPerMille, depthBlocks } = share
  const status = await liveStatus(connection, deps, { chain, datasets: [HOLDERS], tokens: [token] })
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
