import type { Chance } from '#test/simulation/chance.ts'
import { EventQueue } from './event-queue.ts'
import { Cores, Log } from './resources.ts'

/** Processor microseconds. */
export interface Work {
  readonly perCall: number
  readonly perBatch: number
  /** Of each wallet in a batch. */
  readonly perWallet: number
}

export interface Costs {
  readonly replica: Work
  readonly database: Work
  readonly loadPerCall: number
  /** Bytes. */
  readonly wal: Work
  readonly walBytesPerSecond: number
  readonly flushMs: number
  /** Of one exchange between replica and database. */
  readonly roundTripMs: number
}

/** Where the accounts are, and what one batch of a replica means there. */
export interface Deployment {
  readonly replicas: number
  /** Each has its own core unless all share one. */
  readonly shareCore: boolean
  /** Servers that wallets are spread over. */
  readonly shards: number
  readonly coresPerShard: number
  /** Whether the load generators use the databases' cores, as on a machine of two. */
  readonly loadOnDatabase: boolean
  /** Flushes, one after the other, that make a transaction on one server durable, and on several. */
  readonly flushes: { readonly one: number; readonly several: number }
  /** Exchanges with the database from the first statement to the commit, on one server and on several. */
  readonly exchanges: { readonly one: number; readonly several: number }
  /** How many times the processor work of a PostgreSQL that serves alone. */
  readonly workFactor: number
  /** Rows that one wallet's count is spread over; a replica takes from its own. */
  readonly partsPerWallet: number
  /** A wallet's calls come to one replica. */
  readonly routesByWallet: boolean
}

export interface Load {
  /** As fast as they are answered, or arrivals a second over all replicas. */
  readonly arrivals:
    | { readonly kind: 'connections'; readonly count: number }
    | { readonly kind: 'rate'; readonly perSecond: number }
  /** The wallet of the next call. */
  readonly wallet: () => number
}

export interface Simulated {
  readonly arrived: number
  /** Answered. */
  readonly calls: number
  /** By second. */
  readonly callsPerSecond: number
  readonly commitsPerSecond: number
  readonly walletsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Calls that waited when the time was over. */
  readonly waiting: number
  /**
   * Shares of what each can do, of the busiest of its kind; of locks, of the time that a batch takes.
   */
  readonly busy: Readonly<Record<'replica' | 'database' | 'log' | 'locks', number>>
}

const BATCH_MAX = 256

interface Call {
  readonly wallet: number
  readonly atMs: number
  /** Asks again once it is answered. */
  readonly connection: boolean
}

interface Replica {
  readonly index: number
  readonly core: Cores
  waiting: Call[]
  isBusy: boolean
}

interface Shard {
  readonly cores: Cores
  readonly log: Log
  /** When each row is free again. */
  readonly freeMs: Map<number, number>
}

/** Group commits of many replicas on the accounts, event by event; the same for the same seed. */
export function simulate(input: {
  readonly deployment: Deployment
  readonly costs: Costs
  readonly load: Load
  readonly seconds: number
  readonly chance: Chance
}): Simulated {
  const simulation = new Simulation(input)
  return simulation.run()
}

class Simulation {
  readonly #input: Parameters<typeof simulate>[0]
  readonly #events = new EventQueue()
  readonly #replicas: readonly Replica[]
  readonly #shards: readonly Shard[]
  readonly #tookMs: number[] = []
  #arrived = 0
  #batches = 0
  #wallets = 0
  #lockedMs = 0
  #batchMs = 0

  constructor(input: Parameters<typeof simulate>[0]) {
    this.#input = input
    const { deployment, costs } = input
    const shared = new Cores(1)
    this.#replicas = Array.from({ length: deployment.replicas }, (_, index) => ({
      index,
      core: deployment.shareCore ? shared : new Cores(1),
      waiting: [],
      isBusy: false,
    }))
    this.#shards = Array.from({ length: deployment.shards }, () => ({
      cores: new Cores(deployment.coresPerShard),
      log: new Log(costs.flushMs),
      freeMs: new Map(),
    }))
  }

  run(): Simulated {
    const { load, seconds } = this.#input
    const endMs = seconds * 1_000
    if (load.arrivals.kind === 'rate') this.#events.add(0, (atMs) => this.#arriveByRate(atMs))
    else
      for (let index = 0; index < load.arrivals.count; index += 1)
        this.#events.add(0, (atMs) => this.#arrive(index, { atMs, connection: true }))
    this.#events.run(endMs)
    return this.#result(endMs)
  }

  #arriveByRate(atMs: number): void {
    const { load, chance } = this.#input
    if (load.arrivals.kind !== 'rate') return
    this.#arrive(chance.integer(0, this.#replicas.length - 1), { atMs, connection: false })
    const gapMs = (-Math.log(1 - chance.next()) * 1_000) / load.arrivals.perSecond
    this.#events.add(atMs + gapMs, (next) => this.#arriveByRate(next))
  }

  #arrive(at: number, { atMs, connection }: Pick<Call, 'atMs' | 'connection'>): void {
    const { deployment, load } = this.#input
    const wallet = load.wallet()
    this.#arrived += 1
    const index = (deployment.routesByWallet ? wallet : at) % this.#replicas.length
    const replica = this.#replicas[index]
    if (replica === undefined) return
    replica.waiting.push({ wallet, atMs, connection })
    if (!replica.isBusy) this.#begin(replica, atMs)
  }

  #begin(replica: Replica, atMs: number): void {
    const { replica: work } = this.#input.costs
    const batch = replica.waiting.slice(0, BATCH_MAX)
    replica.waiting = replica.waiting.slice(BATCH_MAX)
    replica.isBusy = true
    const wallets = [...new Set(batch.map((each) => each.wallet))]
    // What arrived while the core had nothing to do is read already.
    const readUs = work.perCall * batch.length
    const sentMs = replica.core.use(atMs, work.perBatch + work.perWallet * wallets.length, readUs)
    const answeredMs = this.#commit(sentMs, { batch, wallets, replica })
    this.#batches += 1
    this.#wallets += wallets.length
    this.#batchMs += answeredMs - sentMs
    this.#events.add(answeredMs, (now) => this.#answer(replica, batch, now))
  }

  /** Returns when the batch is durable and its locks are free. */
  #commit(
    sentMs: number,
    {
      batch,
      wallets,
      replica,
    }: {
      readonly batch: readonly Call[]
      readonly wallets: readonly number[]
      readonly replica: Replica
    },
  ): number {
    const { deployment, costs } = this.#input
    const byShard = Map.groupBy(wallets, (wallet) => wallet % this.#shards.length)
    const kind = byShard.size > 1 ? 'several' : 'one'
    const { database: work } = costs
    const tripsMs = costs.roundTripMs * deployment.exchanges[kind]
    const parts = [...byShard].flatMap(([index, rows]) => {
      const shard = this.#shards[index]
      return shard === undefined ? [] : [{ shard, rows }]
    })
    let [heldMs, lockedMs] = [sentMs, 0]
    for (const { shard, rows } of parts) {
      const share = rows.length / wallets.length
      const us = work.perBatch + work.perWallet * rows.length + work.perCall * batch.length * share
      const askedMs = sentMs + tripsMs / 2
      const freeMs = rows.reduce(
        (until, row) => Math.max(until, shard.freeMs.get(this.#rowOf(row, replica)) ?? 0),
        askedMs,
      )
      lockedMs = Math.max(lockedMs, freeMs - askedMs)
      heldMs = Math.max(heldMs, shard.cores.use(freeMs, us * deployment.workFactor))
    }
    this.#lockedMs += lockedMs
    let durableMs = heldMs
    for (let flush = 0; flush < deployment.flushes[kind]; flush += 1)
      durableMs = Math.max(...parts.map(({ shard }) => shard.log.flush(durableMs)))
    durableMs += tripsMs / 2
    for (const { shard, rows } of parts)
      for (const row of rows) shard.freeMs.set(this.#rowOf(row, replica), durableMs)
    return durableMs
  }

  #rowOf(wallet: number, replica: Replica): number {
    const { partsPerWallet } = this.#input.deployment
    return wallet * partsPerWallet + (replica.index % partsPerWallet)
  }

  #answer(replica: Replica, batch: readonly Call[], nowMs: number): void {
    const { deployment, costs } = this.#input
    const [first] = this.#shards
    for (const { atMs, connection } of batch) {
      this.#tookMs.push(nowMs - atMs)
      if (!connection) continue
      const againMs =
        deployment.loadOnDatabase && first !== undefined
          ? first.cores.use(nowMs, costs.loadPerCall)
          : nowMs + costs.loadPerCall / 1_000
      this.#events.add(againMs, (now) => this.#arrive(replica.index, { atMs: now, connection }))
    }
    replica.isBusy = false
    if (replica.waiting.length > 0) this.#begin(replica, nowMs)
  }

  #result(endMs: number): Simulated {
    const sorted = Float64Array.from(this.#tookMs).sort()
    const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
    const perSecond = (count: number) => count / (endMs / 1_000)
    const busiest = (list: readonly number[]) => Math.min(1, Math.max(...list) / endMs)
    const cores = new Set(this.#replicas.map((each) => each.core))
    const { walBytesPerSecond } = this.#input.costs
    return {
      arrived: this.#arrived,
      calls: sorted.length,
      callsPerSecond: perSecond(sorted.length),
      commitsPerSecond: perSecond(this.#batches),
      walletsPerSecond: perSecond(this.#wallets),
      p50Ms: at(0.5),
      p99Ms: at(0.99),
      waiting: this.#replicas.reduce((sum, each) => sum + each.waiting.length, 0),
      busy: {
        replica: busiest([...cores].map((each) => each.busyMs)),
        database: busiest(this.#shards.map(({ cores: each }) => each.busyMs / each.count)),
        log:
          this.#walBytes(sorted.length) / this.#shards.length / (endMs / 1_000) / walBytesPerSecond,
        locks: this.#lockedMs / Math.max(this.#batchMs, 1e-9),
      },
    }
  }

  #walBytes(calls: number): number {
    const { wal } = this.#input.costs
    return wal.perCall * calls + wal.perBatch * this.#batches + wal.perWallet * this.#wallets
  }
}
