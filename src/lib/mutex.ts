export class Mutex {
  #tail: Promise<unknown> = Promise.resolve()

  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(task, task)
    this.#tail = result.catch(() => undefined)
    return result
  }
}

/** Refuses more than `max` tasks at once. */
export class Slots {
  readonly #max: number
  #taken = 0

  constructor(max: number) {
    this.#max = max
  }

  run<T>(task: () => Promise<T>): Promise<T> | undefined {
    if (this.#taken >= this.#max) return undefined
    this.#taken += 1
    return task().finally(() => {
      this.#taken -= 1
    })
  }
}
