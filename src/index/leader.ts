import { sleep } from '#base/async.ts'
import {
  type Connection,
  type Engine,
  type SessionLock,
  StoreError,
  type Tables,
} from '#db/engine.ts'
import { column, sql } from '#db/sql.ts'

export const leaderTables: Tables = `
  create table leaders (
    name text primary key,
    epoch bigint not null
  )`

/** PostgreSQL frees the lock of a process that is silent for longer (`SILENT_HOLDER_MS`). */
const LEAD_MS = 10_000

const KEEP_EVERY_MS = 3_000

const STANDBY_MS = 1_000

/** Any two constants that no other advisory lock of the database uses. */
const LOCK_KEYS = { index: 5_398_018, verifier: 5_398_019 } as const

export type LeadName = keyof typeof LOCK_KEYS

/** What a transaction of a leader needs. */
export type Fence = Pick<Leader, 'hold'>

/**
 * Elects one process by an advisory lock of PostgreSQL; any number stand by. Each new leader counts up an
 * epoch, which every write of a leader checks first, so a process that lost the lock cannot write (fencing).
 * An embedded store belongs to one process, which always leads.
 */
export class Leader {
  readonly #engine: Engine
  readonly #name: LeadName
  #lock: SessionLock | undefined
  /** Rises with every new leader. */
  #epoch: number | undefined
  #untilMs = 0

  constructor(deps: { readonly engine: Engine; readonly name: LeadName }) {
    this.#engine = deps.engine
    this.#name = deps.name
  }

  /** Whether the lock still holds, measured by a clock that nobody sets and that runs on while the process is stopped. */
  get leads(): boolean {
    return this.#epoch !== undefined && performance.now() < this.#untilMs
  }

  /** Takes the lock if it is free. */
  async take(): Promise<boolean> {
    await this.handOver()
    const atMs = performance.now()
    if (this.#engine.lock === undefined) this.#untilMs = Number.POSITIVE_INFINITY
    else {
      this.#lock = await this.#engine.lock(LOCK_KEYS[this.#name])
      if (this.#lock === undefined) return false
      this.#untilMs = atMs + LEAD_MS
    }
    this.#epoch = await this.#countUp()
    return this.leads
  }

  /** Keeps the lock until the signal aborts. Throws LeadLostError. */
  async renew(signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(KEEP_EVERY_MS, signal)
      if (signal.aborted) return
      // A write may have met a newer epoch; without the lock, nobody would lead.
      if (this.#epoch === undefined) throw new LeadLostError(this.#name)
      const atMs = performance.now()
      if (this.#lock !== undefined) {
        await this.#lock.keep().catch((cause: unknown) => {
          this.#epoch = undefined
          throw new LeadLostError(this.#name, { cause })
        })
        this.#untilMs = atMs + LEAD_MS
      }
    }
  }

  /** Leads whenever it can, until the signal aborts. */
  async keep(signal: AbortSignal): Promise<void> {
    while (!signal.aborted)
      try {
        if (await this.take()) await this.renew(signal)
        else await sleep(STANDBY_MS, signal)
      } catch (error) {
        if (!(error instanceof StoreError)) throw error
        await sleep(STANDBY_MS, signal)
      }
    await this.handOver()
  }

  /** Checks within a transaction that no other process has led since. Writers of one name follow one another. Throws LeadLostError. */
  async hold(connection: Connection): Promise<void> {
    const rows = await connection.run(sql`
      update leaders set epoch = epoch
      where name = ${this.#name} and epoch = ${this.#epoch ?? 0}
      returning epoch`)
    if (rows.length > 0) return
    this.#epoch = undefined
    throw new LeadLostError(this.#name)
  }

  /** Lets the next process lead at once. */
  async handOver(): Promise<void> {
    const lock = this.#lock
    this.#epoch = undefined
    this.#lock = undefined
    await lock?.release()
  }

  async #countUp(): Promise<number> {
    const [row] = await this.#engine.write((connection) =>
      connection.run(sql`
        insert into leaders (name, epoch) values (${this.#name}, 1)
        on conflict (name) do update set epoch = leaders.epoch + 1
        returning epoch`),
    )
    return column.integer(row ?? {}, 'epoch')
  }
}

/** The engine for jobs of the leader: every write fails once another process leads. */
export function fencedBy(leader: Fence, engine: Engine): Engine {
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
    write: (work) => engine.write(fence(work)),
    writeWithoutTimeout: (work) => engine.writeWithoutTimeout(fence(work)),
    migrate: (...given) => engine.migrate(...given),
    close: () => engine.close(),
  }
}

/** Another process leads, or the connection that held the lock was lost. */
export class LeadLostError extends StoreError {
  override readonly name: string = 'LeadLostError'
  constructor(name: LeadName, options?: ErrorOptions) {
    super(`another process leads "${name}"`, options)
  }
}
