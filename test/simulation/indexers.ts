import type { Engine } from '#db/engine.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { type RunningIndexer, startIndexer } from '#test/indexed-ecosystem.ts'
import type { FastTime } from './fast-time.ts'
import { type MortalEngine, makeMortalEngine } from './mortal-engine.ts'

/** One indexer process. */
export interface IndexerLife {
  readonly running: RunningIndexer
  readonly mortal: MortalEngine
  state: 'alive' | 'frozen' | 'ended'
}

/** The indexer processes of one register. */
export interface Indexers {
  readonly lives: readonly IndexerLife[]
  start(): IndexerLife
  /** Ends a life at once. */
  kill(life: IndexerLife): void
  /** Ends a life in good order. */
  stop(life: IndexerLife): Promise<void>
  /** Ends what is left. */
  end(): Promise<void>
  /** The newest failures that were told. */
  failures(): readonly string[]
}

/** Ending takes as long as the longest request under way. */
const END_MS = 300_000

/** Opens the place where indexers of one register run; the store is asked for anew for each. */
export function openIndexers(deps: {
  readonly ecosystem: Ecosystem
  readonly time: FastTime
  store(): Engine
}): Indexers {
  const { ecosystem, time } = deps
  const lives: IndexerLife[] = []
  const stopped: Promise<void>[] = []

  function end(life: IndexerLife): Promise<void> {
    life.mortal.wake()
    const done = life.running.stop()
    life.state = 'ended'
    stopped.push(done.catch(() => undefined))
    return done
  }

  return {
    lives,
    start() {
      const mortal = makeMortalEngine(deps.store(), time)
      const running = startIndexer({ ecosystem, register: mortal.engine, clock: time.now })
      const life: IndexerLife = { running, mortal, state: 'alive' }
      lives.push(life)
      return life
    },
    kill(life) {
      life.mortal.die()
      end(life).catch(() => undefined)
    },
    stop: (life) => time.until(end(life), END_MS),
    async end() {
      for (const life of lives) if (life.state !== 'ended') this.kill(life)
      await time.until(Promise.all(stopped), END_MS)
    },
    failures: () => lives.flatMap((life) => life.running.failures.map(String)).slice(-3),
  }
}
