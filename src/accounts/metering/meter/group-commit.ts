export interface GroupCommitDeps<T> {
  /**
   * Never rejects. Calls `onCommitted` once later batches see this one, possibly before it is
   * durable.
   */
  readonly decide: (batch: readonly T[], onCommitted: () => void) => Promise<void>
  /** Called once a batch is durable or has failed. */
  readonly onCommit?: ((seconds: number) => void) | undefined
}

/** Requests decided and not yet on disk: what a commit of unknown outcome may leave charged. */
const UNDER_WAY_MAX = 256

/** More cannot be served within a request's time; includes requests waiting for the disk. */
const WAITING_MAX = 20_000

/**
 * Requests that arrive during a batch form the next. It starts while the last one syncs, once half
 * as many wait: disk and thread stay busy and batches large.
 */
export class GroupCommit<T> {
  readonly #deps: GroupCommitDeps<T>
  #waiting: T[] = []
  #underWay = 0
  #isRunning = false
  #syncing: { readonly enough: number; readonly done: Promise<void> } | undefined
  #onEnough: (() => void) | undefined

  constructor(deps: GroupCommitDeps<T>) {
    this.#deps = deps
  }

  /** False when too many wait. */
  add(request: T): boolean {
    if (this.size >= WAITING_MAX) return false
    this.#waiting.push(request)
    if (this.#isEnough()) this.#onEnough?.()
    if (!this.#isRunning) void this.#run()
    return true
  }

  get size(): number {
    return this.#waiting.length + this.#underWay
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#waiting.length > 0) {
      await this.#untilEnough()
      await new Promise((resolve) => setImmediate(resolve))
      const batch = this.#waiting.splice(0, UNDER_WAY_MAX - this.#underWay)
      await this.#untilCommitted(batch)
    }
    this.#isRunning = false
  }

  #isEnough(): boolean {
    if (this.#syncing === undefined) return true
    return this.#underWay < UNDER_WAY_MAX && this.#waiting.length >= this.#syncing.enough
  }

  async #untilEnough(): Promise<void> {
    if (this.#isEnough()) return
    const enough = new Promise<void>((resolve) => {
      this.#onEnough = resolve
    })
    await Promise.race([enough, this.#syncing?.done])
  }

  #untilCommitted(batch: readonly T[]): Promise<void> {
    const startedMs = performance.now()
    this.#underWay += batch.length
    const { promise: done, resolve: end } = Promise.withResolvers<void>()
    const syncing = { enough: batch.length / 2, done }
    return new Promise((resolve) => {
      const onCommitted = () => {
        this.#syncing = syncing
        resolve()
      }
      void this.#deps.decide(batch, onCommitted).finally(() => {
        this.#underWay -= batch.length
        this.#deps.onCommit?.((performance.now() - startedMs) / 1_000)
        if (this.#syncing === syncing) this.#syncing = undefined
        end()
        resolve()
      })
    })
  }
}
