import { LRUCache } from 'lru-cache'
import type { Address } from '#base/address.ts'
import { TtlCache } from '#base/async.ts'
import { formatDecimal } from '#base/money.ts'
import {
  type Allowance,
  type ShareTier,
  shareTiers,
  type WalletTier,
  walletTiers,
} from '#base/tier.ts'
import { DAY_SECONDS, HOUR_SECONDS, unixNow } from '#base/time.ts'
import { type Context, oncePerContext } from '#context.ts'
import { readBalanceAt, readSupplyAt } from '#data/holders/queries.ts'
import { type Judged, liveChain } from '#data/stats/holdings.ts'
import { type Connection, StoreError } from '#db/engine.ts'
import { column, sql } from '#db/sql.ts'
import type { SupplyShare } from '#ecosystem/ecosystem.ts'
import { readIndexStatus } from '#index/status.ts'

/** A wallet's keys share one allowance. A new tier must count within a minute. */
const ALLOWANCE_TTL_MS = 5_000

/** Bounds memory; evicted wallets are read again. */
const HELD_MAX = 20_000

/** Rewrites an unchanged tier this often, because its age decides how long it may stand. */
const REWRITE_SECONDS = HOUR_SECONDS

export function readAllowance(ctx: Context, wallet: Address): Promise<Allowance> {
  return getWallets(ctx).allowances.get(wallet, async () => {
    const tier = await readTier(ctx, wallet)
    return { tier, dailyQuota: ctx.ecosystem.quotas[tier] }
  })
}

const getWallets = oncePerContext(({ clock }) => ({
  allowances: new TtlCache<Allowance>({ clock, max: HELD_MAX, ttlMs: ALLOWANCE_TTL_MS }),
  stored: new LRUCache<Address, StoredTier>({ max: HELD_MAX }),
}))

interface StoredTier {
  readonly tier: WalletTier
  readonly writtenUnix: number
}

/**
 * Stores the register's last verdict with the wallet: while the register is unavailable it stands for a day, even
 * after a restart, so that a failing register turns no caller away. Unknown wallets are free tier.
 */
async function readTier(ctx: Context, wallet: Address): Promise<WalletTier> {
  const shares = await readShares(ctx, wallet).catch(() => undefined)
  if (shares === undefined) return (await unlessDown(() => readStored(ctx, wallet))) ?? 'free'
  const tier = highestTier(shares)
  await unlessDown(() => store(ctx, wallet, tier))
  return tier
}

async function unlessDown<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof StoreError) return undefined
    throw error
  }
}

async function store(ctx: Context, wallet: Address, tier: WalletTier): Promise<void> {
  const { stored } = getWallets(ctx)
  const nowUnix = unixNow(ctx.clock)
  const known = stored.get(wallet)
  if (known?.tier === tier && nowUnix - known.writtenUnix < REWRITE_SECONDS) return
  const number = walletTiers.find(({ name }) => name === tier)?.stored ?? null
  const written = await ctx.accounts.write((connection) =>
    connection.run(sql`
      update wallets set premium = ${number}, premium_unix = ${nowUnix}
      where wallet = ${wallet} returning wallet`),
  )
  if (written.length > 0) stored.set(wallet, { tier, writtenUnix: nowUnix })
}

async function readStored(
  { accounts, clock }: Context,
  wallet: Address,
): Promise<WalletTier | undefined> {
  const [row] = await accounts.read(sql`
    select premium from wallets
    where premium_unix >= ${unixNow(clock) - DAY_SECONDS} and wallet = ${wallet}`)
  const number = row && column.integer(row, 'premium')
  return walletTiers.find(({ stored }) => stored === number)?.name
}

export function highestTier(shares: readonly ShareHeld[]): WalletTier {
  const isReached = (name: string) => shares.some((each) => each.reached && each.tier === name)
  return walletTiers.findLast(({ name }) => isReached(name))?.name ?? 'free'
}

interface ShareHeld {
  readonly tier: ShareTier
  readonly symbol: string
  /** In token units. */
  readonly held: string
  readonly needed: string
  readonly reached: boolean
}

/** Returns what a wallet holds of what each tier asks for; undefined if a chain is not live. */
export async function readShares(
  ctx: Judged,
  wallet: Address,
): Promise<readonly ShareHeld[] | undefined> {
  // A stored tier that is no longer configured must not outlive an unreadable register.
  if (shareTiers.every(({ name }) => ctx.ecosystem[name] === null)) return []
  return ctx.register.snapshot(async (connection) => {
    const shares: ShareHeld[] = []
    for (const { name } of shareTiers) {
      const share = ctx.ecosystem[name]
      if (share === null) continue
      const amounts = await readHeld(ctx, connection, { share, wallet })
      if (amounts === undefined) return undefined
      const { held, needed } = amounts
      const { symbol, decimals } = share.token
      shares.push({
        tier: name,
        symbol,
        held: formatDecimal(held, decimals),
        // Rounds up, so that this many base units are enough.
        needed: formatDecimal((needed + 999n) / 1_000n, decimals),
        reached: held > 0n && held * 1_000n >= needed,
      })
    }
    return shares
  })
}

interface Held {
  /** In base units. */
  readonly held: bigint
  /** In thousandths of a base unit. */
  readonly needed: bigint
}

/**
 * Reads the balance and the supply share, summed over all chains of the token, each at one deep block; undefined
 * unless all chains are live.
 */
async function readHeld(
  ctx: Judged,
  connection: Connection,
  { share, wallet }: { readonly share: SupplyShare; readonly wallet: Address },
): Promise<Held | undefined> {
  const { token, supplyPerMille, depthBlocks } = share
  const index = await readIndexStatus(connection, ctx.ecosystem.chains)
  let held = 0n
  let supply = 0n
  for (const chain of ctx.ecosystem.chains.filter(({ name }) => token.addresses.has(name))) {
    const status = liveChain(ctx, index, { chain, tokens: [token] })
    if (status === undefined) return undefined
    const blockNumber = status.blockNumber - depthBlocks
    const at = { token: token.symbol, chainId: chain.id, blockNumber }
    supply += await readSupplyAt(connection, at)
    held += await readBalanceAt(connection, { ...at, address: wallet })
  }
  return { held, needed: BigInt(supplyPerMille) * supply }
}
