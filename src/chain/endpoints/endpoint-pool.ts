import type { EndpointState } from '../chain-source.ts'
import { RpcError } from '../rpc-error.ts'
import type { Endpoint } from './endpoint.ts'
import { probeRound } from './probe-round.ts'
import type { Timing } from './timing.ts'

/** Says whom to ask: all endpoints of a chain, or one by itself. */
export interface Choice {
  readonly timing: Timing
  /** The best first; throws RpcError when nobody may be asked. */
  inOrder(): Promise<readonly Endpoint[]>
  /**
   * Whom to ask for history up to a block; undefined when nobody has shown to know that block. One
   * that failed at it before is asked again only where there is no other.
   */
  forHistory(to: number, avoid: ReadonlySet<Endpoint>): Endpoint | undefined
  /** Asks every endpoint anew how far it is. */
  refresh(): Promise<void>
}

/** How often the endpoints in use are compared. */
const PROBE_EVERY_MS = 15_000

/** So long the first call waits for slow endpoints to be compared with one that has answered. */
const FIRST_ROUND_MS = 500

/** The preferred endpoint is returned to when it has been well for so long. */
const SETTLED_MS = 30_000

/** An endpoint that wants to be left alone for longer is passed over where there is another. */
const SHORT_PAUSE_MS = 1_000

/** Asked when no other is left, in this order; one of another chain or branch is never asked. */
const LAST_RESORTS: readonly EndpointState[] = ['lagging', 'lying']

/** The endpoints of one chain: probes them while they are used and says whom to ask. */
export class EndpointPool implements Choice {
  readonly timing: Timing
  readonly #chainId: number
  readonly #all: readonly Endpoint[]
  #current: Endpoint | undefined
  #lastRoundMs = Number.NEGATIVE_INFINITY
  #round: Promise<void> | undefined
  #firstRound: Promise<void> | undefined

  constructor(timing: Timing, chainId: number, endpoints: readonly Endpoint[]) {
    this.timing = timing
    this.#chainId = chainId
    this.#all = endpoints
  }

  async inOrder(): Promise<readonly Endpoint[]> {
    await this.#ready()
    if (!this.#all.some(({ health }) => health.isUsable)) await this.refresh()
    const order = this.#order()
    if (order.length === 0) throw nobody(this.#all)
    return order
  }

  forHistory(to: number, avoid: ReadonlySet<Endpoint>): Endpoint | undefined {
    this.#probeWhenDue()
    // Silence cannot be told from a quiet chain, so that waiting for another is better.
    const isSilent = (each: Endpoint) => each.health.isProvenPruned
    const hasOther = this.#all.some((each) => !isSilent(each))
    const order = this.#order().filter(
      (each) => (each.health.headNumber ?? -1) >= to && !(hasOther && isSilent(each)),
    )
    const whole = order.filter(({ health }) => health.state !== 'pruned')
    return [...whole, ...order].find((each) => !avoid.has(each)) ?? order[0]
  }

  async refresh(): Promise<void> {
    await this.#round
    await this.#startRound(this.#all, false)
  }

  /** One endpoint by itself, probed together with the others. */
  only(endpoint: Endpoint): Choice {
    const { health } = endpoint
    return {
      timing: this.timing,
      inOrder: async () => {
        await this.#ready()
        if (!health.isOfChain) await this.refresh()
        if (!health.isOfChain) throw nobody([endpoint])
        return [endpoint]
      },
      forHistory: (to) =>
        health.isOfChain && (health.headNumber ?? -1) >= to ? endpoint : undefined,
      refresh: () => this.refresh(),
    }
  }

  /** Resolves when it is known whom to ask first. */
  async #ready(): Promise<void> {
    this.#firstRound ??= this.#compareFirst()
    await this.#firstRound
    this.#probeWhenDue()
  }

  async #compareFirst(): Promise<void> {
    const compared = new AbortController()
    // Endpoints that hang must not keep the process alive once another has answered.
    const alive = setInterval(() => {}, PROBE_EVERY_MS)
    try {
      const round = this.#startRound(this.#all, true).finally(() => compared.abort())
      await Promise.race([round, this.timing.sleep(FIRST_ROUND_MS, compared.signal)])
      while (compared.signal.aborted === false) {
        if (this.#all.some(({ health }) => health.isUsable)) return
        const unknown = this.#all.filter(({ health }) => health.state === 'probing')
        await Promise.race([round, ...unknown.map(({ health }) => health.untilProbed)])
      }
    } finally {
      clearInterval(alive)
    }
  }

  #probeWhenDue(): void {
    if (this.timing.clock() - this.#lastRoundMs < PROBE_EVERY_MS || this.#round) return
    const due = this.#all.filter(({ health }) => health.isUsable || health.isDue)
    void this.#startRound(due, true)
  }

  #startRound(endpoints: readonly Endpoint[], background: boolean): Promise<void> {
    this.#lastRoundMs = this.timing.clock()
    this.#round ??= probeRound(this.#chainId, endpoints, { background }).finally(() => {
      this.#round = undefined
    })
    return this.#round
  }

  #order(): readonly Endpoint[] {
    const usable = this.#all.filter(({ health }) => health.isUsable)
    const current = this.#choose(usable)
    if (current === undefined) return lastResorts(this.#all)
    const others = usable.filter((each) => each !== current).sort(byScore)
    const order = [current, ...others]
    const rested = order.filter((each) => each.pace.pausedMs <= SHORT_PAUSE_MS)
    return [...rested, ...order.filter((each) => !rested.includes(each))]
  }

  /** Stays with one endpoint while it is well: two nodes need not be on the same branch. */
  #choose(usable: readonly Endpoint[]): Endpoint | undefined {
    const [preferred] = this.#all
    const isBack =
      preferred !== undefined &&
      usable.includes(preferred) &&
      preferred.health.wellSinceMs <= this.timing.clock() - SETTLED_MS
    const staying = usable.find((each) => each === this.#current)
    const [best] = usable.toSorted(byScore)
    this.#current = isBack ? preferred : (staying ?? best)
    return this.#current
  }
}

function lastResorts(all: readonly Endpoint[]): readonly Endpoint[] {
  return LAST_RESORTS.flatMap((state) => all.filter(({ health }) => health.state === state))
}

/** Few failures count most, then a near head, then quick answers; ties go to the first in the list. */
function byScore(a: Endpoint, b: Endpoint): number {
  return scoreOf(a) - scoreOf(b)
}

function scoreOf({ health, p95Ms }: Endpoint): number {
  return health.failuresInRow * 1_000 + health.lagBlocks * 100 + (p95Ms ?? 0)
}

/** Why nobody is asked, in words. */
function nobody(endpoints: readonly Endpoint[]): RpcError {
  const states = endpoints.map(({ host, health }) => `${host} is ${health.state}: ${health.reason}`)
  return new RpcError(`no endpoint can be asked (${states.join('; ')})`)
}
