export interface GroupCommitDeps<T> {
  /**
   * Decides a batch and tells those who wait for it; never rejects. `onCommitted` is called when the batch
   * stands and later ones see it, where that is before it is durable.
   */
  readonly decide: (batch: readonly T[], onCommitted: () => void) => Promise<void>
  /** Told the number of requests of each batch. */
  readonly onBatch?: ((size: number) => void) | undefined
}

/** One statement carries a batch; beyond this its text and parameters cost more than a second commit. */
const BATCH_MAX = 256

/** So many at most are decided ahead of the disk: what stands in the log grows no further than that. */
const AHEAD_MAX = 4 * BATCH_MAX

/**
 * More waiters than this cannot be served within a request's time; they are refused at once. Those
 * who are decided and wait for the disk are counted too.
 */
const WAITING_MAX = 20_000

/**
 * While one batch is decided the requests that arrive form the next. It is decided while the last one
 * reaches the disk, once half as many wait as that one has: so neither the disk nor this thread stands
 * still, and batches stay large.
 */
export class GroupCommit<T> {
  readonly #deps: GroupCommitDeps<T>
  #waiting: T[] = []
  /** In batches that are not durable yet. */
  #underWay = 0
  #isRunning = false
  /** Of the newest batch, if it stands and is not durable yet. */
  #syncing: { readonly enough: number; readonly done: Promise<void> } | undefined
  #onEnough: (() => void) | undefined

  constructor(deps: GroupCommitDeps<T>) {
    this.#deps = deps
  }

  /** Gives false when too many wait already. */
  add(request: T): boolean {
    if (this.#waiting.length + this.#underWay >= WAITING_MAX) return false
    this.#waiting.push(request)
    if (this.#isEnough()) this.#onEnough?.()
    if (!this.#isRunning) void this.#run()
    return true
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#waiting.length > 0) {
      await this.#untilEnough()
      // The end of this turn of the event loop lets every request that has already arrived join the batch.
      await new Promise((resolve) => setImmediate(resolve))
      const batch = this.#waiting.slice(0, BATCH_MAX)
      this.#waiting = this.#waiting.slice(batch.length)
      this.#deps.onBatch?.(batch.length)
      await this.#untilCommitted(batch)
    }
    this.#isRunning = false
  }

  #isEnough(): boolean {
    if (this.#syncing === undefined) return true
    return this.#underWay < AHEAD_MAX && this.#waiting.length >= this.#syncing.enough
  }

  async #untilEnough(): Promise<void> {
    if (this.#isEnough()) return
    const enough = new Promise<void>((resolve) => {
      this.#onEnough = resolve
    })
    await Promise.race([enough, this.#syncing?.done])
  }

  #untilCommitted(batch: readonly T[]): Promise<void> {
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
        if (this.#syncing === syncing) this.#syncing = undefined
        end()
        resolve()
      })
    })
  }
}
