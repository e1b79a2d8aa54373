export class Waker {
  readonly #waiting = new Map<string, Set<() => void>>()
  #count = 0

  get count(): number {
    return this.#count
  }

  listen(id: string, wake: () => void): () => void {
    const listeners = this.#waiting.get(id) ?? new Set()
    this.#waiting.set(id, listeners.add(wake))
    this.#count += 1
    return () => {
      if (!listeners.delete(wake)) return
      this.#count -= 1
      if (listeners.size === 0 && this.#waiting.get(id) === listeners) this.#waiting.delete(id)
    }
  }

  wake(id: string): void {
    for (const listener of this.#waiting.get(id) ?? []) listener()
  }
}
