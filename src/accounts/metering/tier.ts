import DataLoader from 'dataloader'
import { LRUCache } from 'lru-cache'
import { padded } from '#accounts/keys/key-store.ts'
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
import { column, join, sql } from '#db/sql.ts'
import type { SupplyShare } from '#ecosystem/ecosystem.ts'
import { readIndexStatus } from '#index/status.ts'

/** A wallet's keys share one allowance; with the caller cache's age this stays below a second. */
const ALLOWANCE_TTL_MS = 400

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

const getWallets = oncePerContext((ctx) => ({
  allowances: new TtlCache<Allowance>({ clock: ctx.clock, max: HELD_MAX, ttlMs: ALLOWANCE_TTL_MS }),
  stored: new LRUCache<Address, StoredTier>({ max: HELD_MAX }),
  judge: batchLoader((wallets: readonly Address[]) => judgeTiers(ctx, wallets)),
  readStored: batchLoader((wallets: readonly Address[]) => readStored(ctx, wallets)),
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
  const { judge, readStored } = getWallets(ctx)
  const tier = await judge(wallet).catch(() => undefined)
  if (tier === undefined) return (await unlessDown(() => readStored(wallet))) ?? 'free'
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
  wallets: readonly Address[],
): Promise<Map<Address, WalletTier>> {
  const rows = await accounts.read(sql`
    select wallet, premium from wallets
    where premium_unix >= ${unixNow(clock) - DAY_SECONDS} and wallet in (${join(padded(wallets))})`)
  return new Map(
    rows.flatMap((row) => {
      const number = column.integer(row, 'premium')
      const tier = walletTiers.find(({ stored }) => stored === number)
      return tier === undefined ? [] : [[column.hex(row, 'wallet'), tier.name] as const]
    }),
  )
}

/** The highest tier of each wallet; omits those that cannot be judged while a chain is not live. */
export async function judgeTiers(
  ctx: Judged,
  wallets: readonly Address[],
): Promise<ReadonlyMap<Address, WalletTier>> {
  // A stored tier that is no longer configured must not outlive an unreadable register.
  if (shareTiers.every(({ name }) => ctx.ecosystem[name] === null))
    return new Map(wallets.map((wallet) => [wallet, 'free']))
  return ctx.register.snapshot(async (connection) => {
    const tiers = new Map<Address, WalletTier>()
    for (const { name } of shareTiers.toReversed()) {
      const share = ctx.ecosystem[name]
      if (share === null) continue
      const open = wallets.filter((wallet) => !tiers.has(wallet))
      const holdings = await readHeld(ctx, connection, { share, wallets: open })
      if (holdings === undefined) return tiers
      for (const wallet of open) if (reaches(holdings, wallet)) tiers.set(wallet, name)
    }
    for (const wallet of wallets) if (!tiers.has(wallet)) tiers.set(wallet, 'free')
    return tiers
  })
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
export function readShares(
  ctx: Judged,
  wallet: Address,
): Promise<readonly ShareHeld[] | undefined> {
  return ctx.register.snapshot(async (connection) => {
    const shares: ShareHeld[] = []
    for (const { name } of shareTiers) {
      const share = ctx.ecosystem[name]
      if (share === null) continue
      const holdings = await readHeld(ctx, connection, { share, wallets: [wallet] })
      if (holdings === undefined) return undefined
      const { symbol, decimals } = share.token
      shares.push({
        tier: name,
        symbol,
        held: formatDecimal(holdings.held.get(wallet) ?? 0n, decimals),
        // Rounds up, so that this many base units are enough.
        needed: formatDecimal((holdings.needed + 999n) / 1_000n, decimals),
        reached: reaches(holdings, wallet),
      })
    }
    return shares
  })
}

interface Held {
  /** In base units. */
  readonly held: ReadonlyMap<Address, bigint>
  /** In thousandths of a base unit. */
  readonly needed: bigint
}

function reaches({ held, needed }: Held, wallet: Address): boolean {
  const balance = held.get(wallet) ?? 0n
  return balance > 0n && balance * 1_000n >= needed
}

/**
 * Reads balances and the supply share, summed over all chains of the token, each at one deep block; undefined unless
 * all chains are live.
 */
async function readHeld(
  ctx: Judged,
  connection: Connection,
  { share, wallets }: { readonly share: SupplyShare; readonly wallets: readonly Address[] },
): Promise<Held | undefined> {
  const { token, supplyPerMille, depthBlocks } = share
  const index = await readIndexStatus(connection, ctx.ecosystem.chains)
  const held = new Map<Address, bigint>()
  let supply = 0n
  for (const chain of ctx.ecosystem.chains.filter(({ name }) => token.addresses.has(name))) {
    const status = liveChain(ctx, index, { chain, tokens: [token] })
    if (status === undefined) return undefined
    const blockNumber = status.blockNumber - depthBlocks
    const at = { token: token.symbol, chainId: chain.id, blockNumber }
    supply += await readSupplyAt(connection, at)
    for (const address of wallets) {
      const balance = await readBalanceAt(connection, { ...at, address })
      held.set(address, (held.get(address) ?? 0n) + balance)
    }
  }
  return { held, needed: BigInt(supplyPerMille) * supply }
}

const TOGETHER_MAX = 256

/** Batches look-ups of one event-loop turn into one statement, without caching results. */
export function batchLoader<K extends string, V>(
  load: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>,
): (key: K) => Promise<V | undefined> {
  const loader = new DataLoader<K, V | undefined>(
    async (keys) => {
      // Clears the loader's cache, which only deduplicates within a turn.
      loader.clearAll()
      const found = await load(keys)
      return keys.map((key) => found.get(key))
    },
    { maxBatchSize: TOGETHER_MAX, batchScheduleFn: setImmediate },
  )
  return (key) => loader.load(key)
}
