import { setImmediate } from 'node:timers/promises'
import { type Connection, type Engine, StoreError } from '#db/engine.ts'
import type { Sql } from '#db/sql.ts'

/** The process that used the store is dead; what it had not committed is gone. */
export class DeadError extends StoreError {
  override readonly name = 'DeadError'
  constructor() {
    super('this process is dead')
  }
}

/** The store as one process sees it, which can die or stand still. */
export interface MortalEngine {
  readonly engine: Engine
  /** Statements and commits so far. */
  steps(): number
  /** Dies before the given step, which may be a commit, or right after a commit that nobody hears of. */
  dieAt(step: number, onDeath: () => void): void
  die(): void
  /** Stands still before its next transaction, as a process that was stopped, until it is woken. */
  freeze(): void
  wake(): void
}

/** Whoever watches for work that is under way. */
interface Watch {
  busy(): void
  idle(): void
}

/** Gives a process its own view of a store that outlives it. */
export function makeMortalEngine(inner: Engine, watch: Watch): MortalEngine {
  let steps = 0
  let dead = false
  let last = { step: Number.POSITIVE_INFINITY, onDeath: () => {} }
  let frozen: { readonly until: Promise<void>; readonly wake: () => void } | undefined

  function step(): void {
    steps += 1
    if (steps >= last.step && !dead) {
      dead = true
      last.onDeath()
    }
    if (dead) throw new DeadError()
  }

  async function working<T>(work: () => Promise<T>): Promise<T> {
    while (frozen !== undefined) await frozen.until
    if (dead) throw new DeadError()
    return timed(work)
  }

  async function timed<T>(work: () => Promise<T>): Promise<T> {
    watch.busy()
    try {
      return await work()
    } finally {
      watch.idle()
    }
  }

  const { lock } = inner
  const engine: Engine = {
    ...inner,
    ...(lock && {
      async lock(key) {
        const held = await working(() => lock(key))
        // A session ends with its process.
        return held && { keep: () => working(held.keep), release: () => timed(held.release) }
      },
    }),
    read: (statement) =>
      working(async () => {
        step()
        return inner.read(onOwnClock(statement))
      }),
    snapshot: (work) =>
      working(() => inner.snapshot((connection) => work(counted(connection, step)))),
    write: stepped(inner.write, { working, step }),
    writeWithoutTimeout: stepped(inner.writeWithoutTimeout, { working, step }),
  }
  return {
    engine,
    steps: () => steps,
    dieAt(atStep, onDeath) {
      last = { step: steps + atStep, onDeath }
    },
    die() {
      dead = true
    },
    freeze() {
      const { promise, resolve } = Promise.withResolvers<void>()
      frozen = { until: promise, wake: resolve }
    },
    wake() {
      frozen?.wake()
      frozen = undefined
    },
  }
}

/** A commit is a step, and so is its answer. */
function stepped(
  write: Engine['writeWithoutTimeout'],
  { working, step }: { working<T>(work: () => Promise<T>): Promise<T>; readonly step: () => void },
): Engine['writeWithoutTimeout'] {
  return (work) =>
    working(async () => {
      const result = await write(async (connection) => {
        const outcome = await work(counted(connection, step))
        step()
        return outcome
      })
      step()
      return result
    })
}

/**
 * Every statement on a connection is a step. None is done at once, as on an engine of another thread or
 * machine: what goes on beside it does so in the middle of a commit.
 */
function counted(connection: Connection, step: () => void): Connection {
  return {
    async run(statement) {
      step()
      await setImmediate()
      return connection.run(onOwnClock(statement))
    },
    async insert(into, rows) {
      step()
      await setImmediate()
      return connection.insert(into, rows)
    },
  }
}

/** PostgreSQL tells the time by this process, where time may be simulated. */
function onOwnClock(statement: Sql): Sql {
  const now = `to_timestamp(${Date.now() / 1_000})`
  return {
    ...statement,
    parts: statement.parts.map((part) => part.replaceAll('clock_timestamp()', now)),
  }
}
