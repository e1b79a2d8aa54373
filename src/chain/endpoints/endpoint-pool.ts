import type { BlockHeader } from '#base/chain.ts'
import { RpcError } from '../rpc-error.ts'
import type { Endpoint, Timing } from './endpoint.ts'

const PROBE_EVERY_MS = 15_000

/** How long the first choice waits for endpoints that answer later than others. */
const LATE_MS = 500

const STEADY_MS = 30_000

const SHORT_PAUSE_MS = 1_000

/** The endpoints of a chain, the preferred one first. */
export class EndpointPool {
  readonly #timing: Timing
  readonly #chainId: number
  readonly #all: readonly Endpoint[]
  #current: Endpoint | undefined
  #lastRoundMs = Number.NEGATIVE_INFINITY
  #round: Promise<unknown> | undefined
  #firstRound: Promise<void> | undefined

  constructor(timing: Timing, chainId: number, endpoints: readonly Endpoint[]) {
    this.#timing = timing
    this.#chainId = chainId
    this.#all = endpoints
  }

  /** Throws RpcError if none is usable. */
  async inOrder(): Promise<readonly Endpoint[]> {
    this.#firstRound ??= this.#compareFirst()
    await this.#firstRound
    this.#probeWhenDue()
    if (!this.#all.some(({ isUsable }) => isUsable)) await this.refresh()
    const order = this.#order()
    if (order.length > 0) return order
    const states = this.#all.map(({ host, state, reason }) => `${host} is ${state}: ${reason}`)
    throw new RpcError(`no usable endpoint (${states.join('; ')}); check rpcUrls`)
  }

  /** One in `avoid` only where all others are paused; undefined if none is known to have the block. */
  forHistory(to: number, avoid: ReadonlySet<Endpoint>): Endpoint | undefined {
    this.#probeWhenDue()
    const order = this.#order().filter(({ headNumber }) => (headNumber ?? -1) >= to)
    const whole = order.filter(({ state }) => state !== 'pruned')
    const isFree = (each: Endpoint) => !avoid.has(each) && each.limiter.pausedMs <= SHORT_PAUSE_MS
    return [...whole, ...order].find(isFree) ?? order[0]
  }

  async refresh(): Promise<void> {
    await this.#round
    this.#startRound(this.#all, false)
    await this.#round
  }

  async #compareFirst(): Promise<void> {
    // The probes' sockets do not keep the process alive.
    const alive = setInterval(() => {}, PROBE_EVERY_MS)
    const over = new AbortController()
    try {
      const probes = this.#startRound(this.#all, true)
      const first = Promise.any(probes.map(async (each) => (await each) ?? Promise.reject()))
      const late = first.then(
        () => this.#timing.sleep(LATE_MS, over.signal),
        () => this.#round,
      )
      await Promise.race([this.#round, late])
    } finally {
      over.abort()
      clearInterval(alive)
    }
  }

  #probeWhenDue(): void {
    if (this.#timing.clock() - this.#lastRoundMs < PROBE_EVERY_MS || this.#round) return
    const due = this.#all.filter(({ isUsable, isDue }) => isUsable || isDue)
    this.#startRound(due, true)
  }

  #startRound(
    endpoints: readonly Endpoint[],
    background: boolean,
  ): readonly Promise<Probe | undefined>[] {
    this.#lastRoundMs = this.#timing.clock()
    const probes = endpoints.map((endpoint) => probe(this.#chainId, endpoint, background))
    this.#round = Promise.all(probes).then((ended) => {
      this.#round = undefined
      compareHeads(ended.filter((each) => each !== undefined))
    })
    return probes
  }

  #order(): readonly Endpoint[] {
    const usable = this.#all.filter(({ isUsable }) => isUsable)
    const current = this.#choose(usable)
    // One on another chain or branch is never used.
    if (current === undefined)
      return this.#all.filter(({ state }) => state === 'lagging' || state === 'lying')
    const order = [current, ...usable.filter((each) => each !== current)]
    const isPaused = ({ limiter }: Endpoint) => limiter.pausedMs > SHORT_PAUSE_MS
    return order.toSorted((a, b) => Number(isPaused(a)) - Number(isPaused(b)))
  }

  /** Sticks to one endpoint: two may be on different branches. */
  #choose(usable: readonly Endpoint[]): Endpoint | undefined {
    const steadySinceMs = this.#timing.clock() - STEADY_MS
    const preferred = this.#all.slice(0, 1).find((each) => each.wellSinceMs <= steadySinceMs)
    const [best] = [preferred, this.#current, ...usable].filter(
      (each) => each !== undefined && usable.includes(each),
    )
    this.#current = best
    return best
  }
}

interface Probe {
  readonly endpoint: Endpoint
  readonly head: BlockHeader
}

/** More than the usual propagation delay. */
const LAG_BLOCKS_MAX = 50
const LAG_SECONDS_MAX = 30

const LAG_BLOCKS_MIN = 3

async function probe(
  chainId: number,
  endpoint: Endpoint,
  background: boolean,
): Promise<Probe | undefined> {
  const calls = background ? endpoint.probes : endpoint.calls
  try {
    const [served, head] = await Promise.all([calls.askChainId(), calls.header('latest')])
    if (served !== chainId) {
      endpoint.setAside('wrong-chain', `serves chain ${served} instead of ${chainId}`)
      return undefined
    }
    if (endpoint.state === 'probing') endpoint.passedProbe()
    return head && { endpoint, head }
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    endpoint.missedProbe(error)
    return undefined
  }
}

function compareHeads(probes: readonly Probe[]): void {
  const [best] = probes.toSorted((a, b) => b.head.number - a.head.number)
  if (best === undefined) return
  for (const { endpoint, head } of probes) {
    const blocks = best.head.number - head.number
    const seconds = best.head.timestamp - head.timestamp
    const isNear = blocks < LAG_BLOCKS_MIN || seconds <= LAG_SECONDS_MAX
    if (isNear && blocks <= LAG_BLOCKS_MAX) endpoint.passedProbe()
    else
      endpoint.setAside('lagging', `${blocks} blocks (${seconds} s) behind ${best.endpoint.host}`)
  }
}
