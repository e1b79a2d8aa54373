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
  /** Holds a wallet enough for the premium tier? Undefined while the index cannot tell. */
  readonly isPremium: (wallet: Address) => Promise<boolean | undefined>
}

export type WalletTier = 'free' | 'premium'

/** A tier that changed must hold on every replica within a second, `RecentCallers` included. */
const TIER_TTL_MS = 700

/** Wallets that call within such a time; more of them are looked up again. */
const HELD_MAX = 20_000

/** A word that did not change is written down again after this time, so that its age is known. */
const REWRITE_SECONDS = HOUR_SECONDS

interface Word {
  readonly premium: boolean
  readonly writtenUnix: number
}

/**
 * Gives the tier of a wallet. What the index said last is kept on the wallet's row: while it cannot
 * tell, a known tier stands, also after a restart; only a wallet that was never judged counts as free.
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
  /** What was written down last. */
  recall(wallet: Address): Promise<boolean | undefined>
}

/** An index or a store that cannot tell must not turn callers away. */
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
