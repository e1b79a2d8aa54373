import { assert } from '#lib/assert.ts'
import { Lane, type LaneDeps, type Waiting } from './lane.ts'

/**
 * Batches that PostgreSQL decides at once: while one waits for the server, the thread that answers would
 * have nothing to do. With more of them each has fewer calls.
 */
const LANES = 2

/**
 * Gives batches to lanes. On PostgreSQL each lane takes one at a time, as if it were a replica of its own;
 * on SQLite, which writes one transaction after the other, one lane takes them all.
 */
export class Lanes {
  readonly #first: Lane
  /** How many batches are decided beside each other. */
  readonly atOnce: number
  /** Undefined where a lane takes any number of batches. */
  readonly #free: Lane[] | undefined
  #onFree: (() => void) | undefined

  constructor(deps: LaneDeps) {
    this.#first = new Lane(deps)
    if (deps.engine.dialect === 'postgres') this.#free = [...furtherLanes(deps), this.#first]
    this.atOnce = this.#free?.length ?? 1
  }

  /** What callers ask to have given back. */
  get refunds() {
    return this.#first.refunds
  }

  /** Never rejects. Calls `onNext` when the next batch may come; until then none may. */
  async decide(batch: readonly Waiting[], onNext: () => void): Promise<void> {
    if (this.#free === undefined) return this.#first.decide(batch, onNext)
    const lane = this.#free.pop()
    assert(lane !== undefined, 'a batch comes when a lane is free')
    if (this.#free.length > 0) onNext()
    else this.#onFree = onNext
    await lane.decide(batch, () => undefined)
    this.#free.push(lane)
    this.#onFree?.()
    this.#onFree = undefined
  }
}

function furtherLanes(deps: LaneDeps): Lane[] {
  return Array.from(
    { length: LANES - 1 },
    (_, index) => new Lane({ ...deps, name: `${deps.name}/${index + 2}` }),
  )
}
