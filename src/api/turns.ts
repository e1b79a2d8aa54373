/** A page that asks thirty questions at once does not notice; a thousand heavy ones leave room for others. */
const AT_ONCE_MAX = 4

/**
 * Whose calls work at once, by bucket. Waiting calls are bounded by the connections, each of which has
 * one request at a time.
 */
export class Turns {
  readonly #working = new Map<string, number>()
  readonly #waiting = new Map<string, (() => void)[]>()

  /** Undefined if it is the caller's turn already. */
  take(bucket: string): Promise<void> | undefined {
    const working = this.#working.get(bucket) ?? 0
    if (working < AT_ONCE_MAX) {
      this.#working.set(bucket, working + 1)
      return undefined
    }
    return new Promise((resolve) => {
      const line = this.#waiting.get(bucket) ?? []
      line.push(resolve)
      this.#waiting.set(bucket, line)
    })
  }

  /** Hands the turn on. */
  leave(bucket: string): void {
    const line = this.#waiting.get(bucket)
    const next = line?.shift()
    if (line?.length === 0) this.#waiting.delete(bucket)
    const working = (this.#working.get(bucket) ?? 0) - 1
    if (next !== undefined) next()
    else if (working > 0) this.#working.set(bucket, working)
    else this.#working.delete(bucket)
  }
}
