import type { BlockHeader } from '#base/chain.ts'
import { callSource } from '#chain/endpoints/call-source.ts'
import type { Endpoint } from '#chain/endpoints/endpoint.ts'
import { RpcError } from '#chain/rpc-error.ts'
import type { EndpointState } from '../chain-source.ts'
import type { Timing } from './rate-limiter.ts'

const PROBE_EVERY_MS = 15_000

const FIRST_ROUND_MS = 500

const STEADY_MS = 30_000

const SHORT_PAUSE_MS = 1_000

/** States to use if no endpoint is well; one on another chain or branch is never used. */
const LAST_RESORTS: readonly EndpointState[] = ['lagging', 'lying']

export class EndpointPool {
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

  /** Throws RpcError if none is usable. */
  async inOrder(): Promise<readonly Endpoint[]> {
    await this.#ready()
    if (!this.#all.some(({ health }) => health.isUsable)) await this.refresh()
    const order = this.#order()
    if (order.length === 0) throw nobody(this.#all)
    return order
  }

  /** One in `avoid` only as a last resort; undefined if none is known to have the block. */
  forHistory(to: number, avoid: ReadonlySet<Endpoint>): Endpoint | undefined {
    this.#probeWhenDue()
    const order = this.#order().filter(({ health }) => (health.headNumber ?? -1) >= to)
    const whole = order.filter(({ health }) => health.state !== 'pruned')
    return [...whole, ...order].find((each) => !avoid.has(each)) ?? order[0]
  }

  async refresh(): Promise<void> {
    await this.#round
    await this.#startRound(this.#all, false)
  }

  async #ready(): Promise<void> {
    this.#firstRound ??= this.#compareFirst()
    await this.#firstRound
    this.#probeWhenDue()
  }

  async #compareFirst(): Promise<void> {
    const compared = new AbortController()
    // The probes' sockets do not keep the process alive.
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
    const rested = order.filter((each) => each.limiter.pausedMs <= SHORT_PAUSE_MS)
    return [...rested, ...order.filter((each) => !rested.includes(each))]
  }

  /** Sticks to one endpoint: two may be on different branches. */
  #choose(usable: readonly Endpoint[]): Endpoint | undefined {
    const [preferred] = this.#all
    const isBack =
      preferred !== undefined &&
      usable.includes(preferred) &&
      preferred.health.wellSinceMs <= this.timing.clock() - STEADY_MS
    const staying = usable.find((each) => each === this.#current)
    const [best] = usable.toSorted(byScore)
    this.#current = isBack ? preferred : (staying ?? best)
    return this.#current
  }
}

function lastResorts(all: readonly Endpoint[]): readonly Endpoint[] {
  return LAST_RESORTS.flatMap((state) => all.filter(({ health }) => health.state === state))
}

function byScore(a: Endpoint, b: Endpoint): number {
  return scoreOf(a) - scoreOf(b)
}

function scoreOf({ health, p95Ms }: Endpoint): number {
  return health.failuresInRow * 1_000 + health.lagBlocks * 100 + (p95Ms ?? 0)
}

function nobody(endpoints: readonly Endpoint[]): RpcError {
  const states = endpoints.map(({ host, health }) => `${host} is ${health.state}: ${health.reason}`)
  return new RpcError(`no usable endpoint (${states.join('; ')})`)
}

interface Probe {
  readonly endpoint: Endpoint
  readonly head: BlockHeader
}

/** More than the usual propagation delay. */
const LAG_BLOCKS_MAX = 50
const LAG_SECONDS_MAX = 30

const LAG_BLOCKS_MIN = 3

async function probeRound(
  chainId: number,
  endpoints: readonly Endpoint[],
  how: { readonly background: boolean },
): Promise<void> {
  const asked = endpoints.map((endpoint) => probe(chainId, endpoint, how))
  const probes = (await Promise.all(asked)).filter((each) => each !== undefined)
  for (const { endpoint } of compareHeads(probes)) endpoint.health.passed()
}

async function probe(
  chainId: number,
  endpoint: Endpoint,
  how: { readonly background: boolean },
): Promise<Probe | undefined> {
  const source = callSource(chainId, (call) => endpoint.call(call, how))
  try {
    const [served, head] = await Promise.all([source.askChainId(), source.header('latest')])
    if (served !== chainId) {
      endpoint.health.setAside('wrong-chain', `serves chain ${served} instead of ${chainId}`)
      return undefined
    }
    endpoint.health.provenOfChain()
    return head && { endpoint, head }
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    endpoint.health.missedProbe(error)
    return undefined
  }
}

function compareHeads(probes: readonly Probe[]): readonly Probe[] {
  const best = probes.reduce<Probe | undefined>(
    (first, each) => (first === undefined || each.head.number > first.head.number ? each : first),
    undefined,
  )
  if (best === undefined) return []
  return probes.filter(({ endpoint, head }) => {
    const blocks = best.head.number - head.number
    const seconds = best.head.timestamp - head.timestamp
    endpoint.health.lagBlocks = blocks
    const isNear = blocks < LAG_BLOCKS_MIN || seconds <= LAG_SECONDS_MAX
    if (isNear && blocks <= LAG_BLOCKS_MAX) return true
    const reason = `${blocks} blocks (${seconds} s) behind ${best.endpoint.host}`
    endpoint.health.setAside('lagging', reason)
    return false
  })
}
