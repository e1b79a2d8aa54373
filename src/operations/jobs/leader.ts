import { randomUUID } from 'node:crypto'
import { sleep } from '#lib/sleep.ts'
import type { Clock } from '#lib/time.ts'
import { dialectOf } from '#store/dialects.ts'
import { type Connection, type Engine, type Migration, StoreError } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

export const leaseMigration = (id: number): Migration => ({
  id,
  name: 'leases',
  sql: `create table leases (
    name text primary key,
    holder text not null,
    epoch bigint not null,
    expires_at_ms bigint not null
  )`,
})

/** A leader silent this long counts as dead. */
export const LEASE_MS = 10_000

/** A later end was written before the clock was set back, and is void. */
const END_MAX_MS = 2 * LEASE_MS

const RENEW_MS = 3_000

const STANDBY_MS = 1_000

export type LeaseName = 'index' | 'verifier'

/** What a transaction of a leader needs. */
export type Holding = Pick<Leader, 'hold'>

/**
 * Elects one process of a role by a row with an end; any number stand by. Every write of the leader
 * checks the row first, so that a process that was presumed dead cannot write any more (fencing).
 */
export class Leader {
  readonly #engine: Engine
  readonly #clock: Clock
  readonly #name: LeaseName
  readonly #holder: string
  readonly #onLead: ((leads: boolean) => void) | undefined
  /** Rises with every new holder. */
  #epoch: number | undefined
  #untilMs = 0

  constructor(deps: {
    readonly engine: Engine
    readonly clock: Clock
    readonly name: LeaseName
    /** Unique; processes that share one follow each other at once. */
    readonly holder?: string
    /** Told by `keep`, at each try and renewal. */
    onLead?: ((leads: boolean) => void) | undefined
  }) {
    this.#onLead = deps.onLead
    this.#holder = deps.holder ?? randomUUID()
    this.#engine = deps.engine
    this.#clock = deps.clock
    this.#name = deps.name
  }

  /** Whether the lease still holds, measured by a clock that nobody sets and that runs on while the process is stopped. */
  get leads(): boolean {
    return this.#epoch !== undefined && performance.now() < this.#untilMs
  }

  /** Takes a free, expired or own lease. */
  async take(): Promise<boolean> {
    const atMs = performance.now()
    this.#epoch = await this.#acquire()
    this.#untilMs = atMs + LEASE_MS
    return this.leads
  }

  /** Renews the lease until the signal aborts, also after an outage of the store. Throws LeaseLostError. */
  async renew(signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(RENEW_MS, signal)
      if (signal.aborted) return
      const atMs = performance.now()
      try {
        await this.#engine.write((connection) => this.hold(connection))
        this.#untilMs = atMs + LEASE_MS
      } catch (error) {
        if (error instanceof LeaseLostError) throw error
        ignoreStoreError(error)
      }
      this.#onLead?.(this.leads)
    }
  }

  /** Leads whenever it can, until the signal aborts. */
  async keep(signal: AbortSignal): Promise<void> {
    while (!signal.aborted)
      try {
        const leads = await this.take()
        this.#onLead?.(leads)
        if (leads) await this.renew(signal)
        else await sleep(STANDBY_MS, signal)
      } catch (error) {
        ignoreStoreError(error)
        await sleep(STANDBY_MS, signal)
      }
    await this.handOver().catch(ignoreStoreError)
  }

  /** Checks and renews within a transaction. Throws LeaseLostError. */
  async hold(connection: Connection): Promise<void> {
    const now = dialectOf(this.#engine).now(this.#clock())
    const rows = await connection.run(sql`
      update leases set expires_at_ms = ${now} + ${LEASE_MS}
      where name = ${this.#name} and holder = ${this.#holder} and epoch = ${this.#epoch ?? 0}
      returning epoch`)
    if (rows.length > 0) return
    this.#epoch = undefined
    throw new LeaseLostError(this.#name)
  }

  /** Lets the next process start at once. */
  async handOver(): Promise<void> {
    const epoch = this.#epoch
    this.#epoch = undefined
    if (epoch === undefined) return
    await this.#engine.write((connection) =>
      connection.run(sql`
        update leases set expires_at_ms = 0
        where name = ${this.#name} and holder = ${this.#holder} and epoch = ${epoch}`),
    )
  }

  async #acquire(): Promise<number | undefined> {
    const now = dialectOf(this.#engine).now(this.#clock())
    const rows = await this.#engine.write((connection) =>
      connection.run(sql`
        insert into leases (name, holder, epoch, expires_at_ms)
        values (${this.#name}, ${this.#holder}, 1, ${now} + ${LEASE_MS})
        on conflict (name) do update set
          holder = excluded.holder, epoch = leases.epoch + 1, expires_at_ms = excluded.expires_at_ms
        where leases.expires_at_ms < ${now} or leases.expires_at_ms > ${now} + ${END_MAX_MS}
          or leases.holder = excluded.holder
        returning epoch`),
    )
    const [row] = rows
    return row && column.integer(row, 'epoch')
  }
}

/** The engine for jobs of the leader: every write fails once another process leads. */
export function fencedBy(leader: Holding, engine: Engine): Engine {
  const fence =
    <T>(work: (connection: Connection) => Promise<T>) =>
    async (connection: Connection): Promise<T> => {
      await leader.hold(connection)
      return work(connection)
    }
  return {
    dialect: engine.dialect,
    read: (statement) => engine.read(statement),
    snapshot: (work) => engine.snapshot(work),
    write: (work, onCommitted) => engine.write(fence(work), onCommitted),
    writeWithoutTimeout: (work) => engine.writeWithoutTimeout(fence(work)),
    migrate: (...given) => engine.migrate(...given),
    close: () => engine.close(),
  }
}

/** Unix milliseconds. */
export async function leaseEnd(
  connection: Connection,
  name: LeaseName,
): Promise<number | undefined> {
  const [row] = await connection.run(sql`select expires_at_ms from leases where name = ${name}`)
  return row && column.integer(row, 'expires_at_ms')
}

export async function isLeaseHeld(
  connection: Connection,
  input: {
    readonly name: LeaseName
    readonly dialect: Engine['dialect']
    readonly nowMs: number
  },
): Promise<boolean> {
  const now = dialectOf(input).now(input.nowMs)
  const rows = await connection.run(sql`
    select name from leases where name = ${input.name}
      and expires_at_ms >= ${now} and expires_at_ms <= ${now} + ${END_MAX_MS}`)
  return rows.length > 0
}

/** Another process leads. */
export class LeaseLostError extends StoreError {
  override readonly name: string = 'LeaseLostError'
  constructor(name: LeaseName) {
    super(`the lease "${name}" has passed to another process`)
  }
}

function ignoreStoreError(error: unknown): void {
  if (!(error instanceof StoreError)) throw error
}
