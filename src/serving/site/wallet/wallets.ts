import { LRUCache } from 'lru-cache'
import type { Context } from '#context.ts'
import type { Address } from '#domain/address.ts'
import { TtlCache } from '#lib/async.ts'
import { type Clock, MINUTE_MS, unixNow } from '#lib/time.ts'
import type { Ask } from '#route/ask-routes.ts'
import type { Call } from '#route/route.ts'
import { isInTime } from '../snapshot.ts'
import type { WalletFigures, WalletShown } from './shapes.ts'
import { walletFigures } from './wallet-figures.ts'

const KEPT_MAX = 300

/** Figures of wallets for pages and pictures: free, at most a minute old, and a few per caller. */
export class Wallets {
  readonly #clock: Clock
  readonly #ask: Ask
  readonly #opened: OpenedWallets
  readonly #kept: TtlCache<WalletFigures>

  constructor({ clock }: Context, ask: Ask) {
    this.#clock = clock
    this.#ask = ask
    this.#opened = new OpenedWallets(clock)
    this.#kept = new TtlCache({ max: KEPT_MAX, ttlMs: MINUTE_MS, clock })
  }

  /** Returns undefined if the caller may look, else when it may. */
  open({ addressBucket }: Call, wallet: Address): number | undefined {
    const openMs = this.#opened.open(addressBucket, wallet)
    return openMs && Math.ceil(openMs / 1000)
  }

  figures(wallet: Address): Promise<WalletFigures> {
    const nowUnix = unixNow(this.#clock)
    return this.#kept.get(wallet, () => walletFigures(this.#ask, { wallet, nowUnix }))
  }

  async shown(call: Call, wallet: Address): Promise<WalletShown> {
    const openUnix = this.open(call, wallet) ?? null
    if (openUnix !== null) return { figures: null, openUnix }
    const reading = this.figures(wallet).catch(() => null)
    return { figures: (await isInTime(reading)) ? await reading : null, openUnix }
  }
}

const WALLETS_AN_HOUR = 60

const HOUR_MS = 3_600_000

/** Callers remembered; about 2 kB each. */
const CALLERS_MAX = 5_000

/** Which wallets a caller opened within an hour: free pages must be no copy of what calls cost. */
export class OpenedWallets {
  /** Time of the first look by wallet, oldest first. */
  readonly #byCaller = new LRUCache<string, Map<number, number>>({ max: CALLERS_MAX })
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns undefined if the caller may look, else when it may. */
  open(caller: string, wallet: Address): number | undefined {
    const now = this.#clock()
    const opened = this.#byCaller.get(caller) ?? new Map<number, number>()
    this.#byCaller.set(caller, opened)
    for (const [each, atMs] of opened) if (now >= atMs + HOUR_MS) opened.delete(each)
    const short = shortOf(wallet)
    if (opened.has(short)) return undefined
    const [oldestMs] = opened.values()
    if (oldestMs !== undefined && opened.size >= WALLETS_AN_HOUR) return oldestMs + HOUR_MS
    opened.set(short, now)
    return undefined
  }
}

/** Seven digits keep the memory small and hardly ever take two wallets for one. */
function shortOf(wallet: Address): number {
  return Number.parseInt(wallet.slice(-7), 16)
}
