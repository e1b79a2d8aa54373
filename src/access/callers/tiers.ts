import { LRUCache } from 'lru-cache'
import type { Address } from '#domain/address.ts'
import { type Clock, HOUR_SECONDS, unixNow } from '#lib/time.ts'
import { type Engine, StoreError } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { join, sql } from '#store/sql.ts'
import { padded } from '../padded.ts'
import { gather } from './gather.ts'
import { TtlCache } from './ttl-cache.ts'

export interface TiersDeps {
  /** The accounts store. */
  readonly engine: Engine
  readonly clock: Clock
  /** Undefined while the index cannot tell. */
  readonly isPremium: (wallet: Address) => Promise<boolean | undefined>
}

export type WalletTier = 'free' | 'premium'

/** A new tier must hold on every replica within a second. */
const TIER_TTL_MS = 700

/** Bounds memory; other wallets are read again. */
const HELD_MAX = 20_000

/** Rewrites an unchanged tier after this, so that its age is known. */
const REWRITE_SECONDS = HOUR_SECONDS

interface Word {
  readonly premium: boolean
  readonly writtenUnix: number
}

/**
 * The index's last result is stored with the wallet: while the index is unavailable it stands, even
 * after a restart. Unknown wallets count as free.
 */
export function createTiers(deps: TiersDeps): (wallet: Address) => Promise<WalletTier> {
  const tiers = new TtlCache<boolean>({ ...deps, max: HELD_MAX, ttlMs: TIER_TTL_MS })
  const words = new LRUCache<Address, Word>({ max: HELD_MAX })
  const recall = gather((wallets: readonly Address[]) => readWords(deps, wallets))
  const judging = { ...deps, words, recall }
  return async (wallet) =>
    (await tiers.get(wallet, () => judge(judging, wallet))) ? 'premium' : 'free'
}

type Words = LRUCache<Address, Word>

interface Judging extends TiersDeps {
  readonly words: Words
  /** The stored tier. */
  recall(wallet: Address): Promise<boolean | undefined>
}

/** A failing index or store must not turn callers away. */
async function judge(deps: Judging, wallet: Address): Promise<boolean> {
  const premium = await deps.isPremium(wallet).catch(() => undefined)
  if (premium !== undefined) {
    await orUnknown(() => remember(deps, { wallet, premium }))
    return premium
  }
  return (await orUnknown(() => deps.recall(wallet))) ?? deps.words.get(wallet)?.premium ?? false
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
  { wallet, premium }: { readonly wallet: Address; readonly premium: boolean },
): Promise<void> {
  const nowUnix = unixNow(clock)
  const known = words.get(wallet)
  if (known?.premium === premium && nowUnix - known.writtenUnix < REWRITE_SECONDS) return
  const written = await engine.write((connection) =>
    connection.run(sql`
      update wallets set premium = ${premium ? 1 : 0}, premium_unix = ${nowUnix}
      where wallet = ${wallet} returning wallet`),
  )
  if (written.length > 0) words.set(wallet, { premium, writtenUnix: nowUnix })
}

async function readWords(
  { engine }: TiersDeps,
  wallets: readonly Address[],
): Promise<Map<Address, boolean>> {
  const found = await engine.read(sql`
    select wallet, premium from wallets
    where premium is not null and wallet in (${join(padded(wallets))})`)
  return new Map(found.map((row) => [column.hex(row, 'wallet'), column.flag(row, 'premium')]))
}
