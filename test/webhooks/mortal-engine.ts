import { setImmediate } from 'node:timers/promises'
import { type Connection, type Engine, StoreError } from '#db/engine.ts'

/** The process that used the store is dead; what it had not committed is gone. */
export class DeadError extends StoreError {
  override readonly name = 'DeadError'
  constructor() {
    super('this process is dead')
  }
}

/** The store as one process sees it, which can die. */
export interface MortalEngine {
  readonly engine: Engine
  /** Dies before the given step, which may be a commit, or right after a commit that nobody hears of. */
  dieAt(step: number, onDeath: () => void): void
  die(): void
}

/** Gives a process its own view of a store that outlives it. */
export function makeMortalEngine(inner: Engine): MortalEngine {
  let steps = 0
  let dead = false
  let last = { step: Number.POSITIVE_INFINITY, onDeath: () => {} }

  function step(): void {
    steps += 1
    if (steps >= last.step && !dead) {
      dead = true
      last.onDeath()
    }
    if (dead) throw new DeadError()
  }

  async function working<T>(work: () => Promise<T>): Promise<T> {
    if (dead) throw new DeadError()
    return work()
  }

  const engine: Engine = {
    ...inner,
    read: (statement) =>
      working(async () => {
        step()
        return inner.read(statement)
      }),
    snapshot: (work) =>
      working(() => inner.snapshot((connection) => work(counted(connection, step)))),
    write: stepped(inner.write, { working, step }),
    writeWithoutTimeout: stepped(inner.writeWithoutTimeout, { working, step }),
  }
  return {
    engine,
    dieAt(atStep, onDeath) {
      last = { step: steps + atStep, onDeath }
    },
    die() {
      dead = true
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
      return connection.run(statement)
    },
    async insert(into, rows) {
      step()
      await setImmediate()
      return connection.insert(into, rows)
    },
  }
}
