import type { Incoming } from '#http/exchange.ts'

/** A page that asks thirty questions at once does not notice; a thousand heavy ones leave room for others. */
const AT_ONCE_MAX = 4

/** A load test has a thousand connections from one address; more calls would only fill memory. */
const WAITING_MAX = 1_000

/** Whose calls work at once, by bucket. */
export class Turns {
  readonly #working = new Map<string, number>()
  readonly #waiting = new Map<string, (() => void)[]>()

  /** Undefined if it is the caller's turn already; resolves to false once the connection is cut. */
  take(
    bucket: string,
    client: Pick<Incoming, 'signal' | 'isCut'>,
  ): Promise<boolean> | 'full' | undefined {
    const working = this.#working.get(bucket) ?? 0
    if (working < AT_ONCE_MAX) {
      this.#working.set(bucket, working + 1)
      return undefined
    }
    const line = this.#waiting.get(bucket) ?? []
    if (line.length >= WAITING_MAX) return 'full'
    this.#waiting.set(bucket, line)
    return new Promise((resolve) => {
      const quit = () => {
        // A client that half-closes may still read.
        if (client.isCut() && this.#quit(bucket, enter)) resolve(false)
      }
      const enter = () => {
        client.signal.removeEventListener('abort', quit)
        resolve(true)
      }
      line.push(enter)
      client.signal.addEventListener('abort', quit, { once: true })
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

  /** Whether it was in line. */
  #quit(bucket: string, enter: () => void): boolean {
    const line = this.#waiting.get(bucket) ?? []
    const index = line.indexOf(enter)
    if (index < 0) return false
    line.splice(index, 1)
    if (line.length === 0) this.#waiting.delete(bucket)
    return true
  }
}
