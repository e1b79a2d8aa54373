import { LRUCache } from 'lru-cache'
import { padded } from '#accounts/keys/padded.ts'
import type { Address } from '#domain/address.ts'
import { type Allowance, type Quotas, type WalletTier, walletTiers } from '#domain/tier.ts'
import { type Clock, HOUR_SECONDS, unixNow } from '#lib/time.ts'
import { TtlCache } from '#lib/ttl-cache.ts'
import { type Engine, StoreError } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { join, sql } from '#store/sql.ts'
import { batchLoader } from './batch-loader.ts'

export interface AllowancesDeps {
  readonly engine: Engine
  readonly clock: Clock
  readonly quotas: Quotas
  /** Judges by what the wallet holds; undefined while the index cannot. */
  readonly judgeTier: (wallet: Address) => Promise<WalletTier | undefined>
}

/** All keys of a wallet have one allowance; with the age of a caller it holds within a second. */
const ALLOWANCE_TTL_MS = 400

/** Bounds memory; other wallets are read again. */
const HELD_MAX = 20_000

/** Rewrites an unchanged tier after this, so that its age is known. */
const REWRITE_SECONDS = HOUR_SECONDS

interface Word {
  readonly tier: WalletTier
  readonly writtenUnix: number
}

export function createAllowances(deps: AllowancesDeps): (wallet: Address) => Promise<Allowance> {
  const words = new LRUCache<Address, Word>({ max: HELD_MAX })
  const recall = batchLoader((wallets: readonly Address[]) => readWords(deps, wallets))
  const judging = { ...deps, words, recall }
  const allowances = new TtlCache<Allowance>({
    ...deps,
    max: HELD_MAX,
    ttlMs: ALLOWANCE_TTL_MS,
  })
  const allow = async (wallet: Address): Promise<Allowance> => {
    const tier = await judge(judging, wallet)
    return { tier, dailyQuota: deps.quotas[tier] }
  }
  return (wallet) => allowances.get(wallet, () => allow(wallet))
}

type Words = LRUCache<Address, Word>

interface Judging extends AllowancesDeps {
  readonly words: Words
  recall(wallet: Address): Promise<WalletTier | undefined>
}

/**
 * The index's last result is stored with the wallet: while the index is unavailable it stands, even
 * after a restart. Unknown wallets count as free. A failing index must not turn callers away.
 */
async function judge(deps: Judging, wallet: Address): Promise<WalletTier> {
  const tier = await deps.judgeTier(wallet).catch(() => undefined)
  if (tier !== undefined) {
    await orUnknown(() => remember(deps, { wallet, tier }))
    return tier
  }
  return (await orUnknown(() => deps.recall(wallet))) ?? deps.words.get(wallet)?.tier ?? 'free'
}

async function orUnknown<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof StoreError) return undefined
    throw error
  }
}

async function remember(
  { engine, clock, words }: Judging,
  { wallet, tier }: { readonly wallet: Address; readonly tier: WalletTier },
): Promise<void> {
  const nowUnix = unixNow(clock)
  const known = words.get(wallet)
  if (known?.tier === tier && nowUnix - known.writtenUnix < REWRITE_SECONDS) return
  const stored = walletTiers.find(({ name }) => name === tier)?.stored ?? null
  const written = await engine.write((connection) =>
    connection.run(sql`
      update wallets set premium = ${stored}, premium_unix = ${nowUnix}
      where wallet = ${wallet} returning wallet`),
  )
  if (written.length > 0) words.set(wallet, { tier, writtenUnix: nowUnix })
}

async function readWords(
  { engine }: AllowancesDeps,
  wallets: readonly Address[],
): Promise<Map<Address, WalletTier>> {
  const found = await engine.read(sql`
    select wallet, premium from wallets
    where premium is not null and wallet in (${join(padded(wallets))})`)
  return new Map(
    found.flatMap((row) => {
      const stored = column.integer(row, 'premium')
      const tier = walletTiers.find((each) => each.stored === stored)
      return tier === undefined ? [] : [[column.hex(row, 'wallet'), tier.name] as const]
    }),
  )
}
