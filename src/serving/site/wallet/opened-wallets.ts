import { LRUCache } from 'lru-cache'
import type { Address } from '#domain/address.ts'
import type { Clock } from '#lib/time.ts'

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
