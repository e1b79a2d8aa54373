export class Mutex {
  #tail: Promise<unknown> = Promise.resolve()

  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(task, task)
    this.#tail = result.catch(() => undefined)
    return result
  }
}

/** Runs at most `max` tasks at once, round-robin by owner: many of one owner delay few of another. */
export class FairSlots {
  readonly #max: number
  #taken = 0
  readonly #waiting = new Map<string, (() => void)[]>()

  constructor(max: number) {
    this.#max = max
  }

  async run<T>(owner: string, task: () => Promise<T>): Promise<T> {
    if (this.#taken < this.#max) this.#taken += 1
    else await this.#turn(owner)
    try {
      return await task()
    } finally {
      this.#handOn()
    }
  }

  #turn(owner: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const line = this.#waiting.get(owner)
    if (line === undefined) this.#waiting.set(owner, [resolve])
    else line.push(resolve)
    return promise
  }

  #handOn(): void {
    const [next] = this.#waiting
    if (next === undefined) {
      this.#taken -= 1
      return
    }
    const [owner, [begin, ...others]] = next
    this.#waiting.delete(owner)
    if (others.length > 0) this.#waiting.set(owner, others)
    begin?.()
  }
}
