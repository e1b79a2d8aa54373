import type { Incoming } from '#api/http/exchange.ts'
import type { Address } from '#domain/address.ts'
import { type Clock, MINUTE_MS, unixNow } from '#lib/time.ts'
import { TtlCache } from '#lib/ttl-cache.ts'
import type { Ask } from '#route/ask-routes.ts'
import { isInTime } from '../snapshot.ts'
import { OpenedWallets } from './opened-wallets.ts'
import type { WalletFigures, WalletShown } from './shapes.ts'
import { walletFigures } from './wallet-figures.ts'

const KEPT_MAX = 300

export interface WalletDeps {
  readonly ask: Ask
  readonly clock: Clock
  addressBucket(socketAddress: string, headers: Incoming['headers']): string
}

/** Figures of wallets for pages and pictures: free, at most a minute old, and a few per caller. */
export class Wallets {
  readonly #deps: WalletDeps
  readonly #opened: OpenedWallets
  readonly #kept: TtlCache<WalletFigures>

  constructor(deps: WalletDeps) {
    this.#deps = deps
    this.#opened = new OpenedWallets(deps.clock)
    this.#kept = new TtlCache({ max: KEPT_MAX, ttlMs: MINUTE_MS, clock: deps.clock })
  }

  /** Returns undefined if the caller may look, else when it may. */
  open({ socketAddress, headers }: Incoming, wallet: Address): number | undefined {
    const caller = this.#deps.addressBucket(socketAddress, headers)
    const openMs = this.#opened.open(caller, wallet)
    return openMs && Math.ceil(openMs / 1000)
  }

  figures(wallet: Address): Promise<WalletFigures> {
    const { ask, clock } = this.#deps
    const make = () => walletFigures(ask, { wallet, nowUnix: unixNow(clock) })
    return this.#kept.get(wallet, make)
  }

  async shown(incoming: Incoming, wallet: Address): Promise<WalletShown> {
    const openUnix = this.open(incoming, wallet) ?? null
    if (openUnix !== null) return { figures: null, openUnix }
    const reading = this.figures(wallet).catch(() => null)
    return { figures: (await isInTime(reading)) ? await reading : null, openUnix }
  }
}
