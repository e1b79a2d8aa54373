/** Enough answers for a 95th percentile that one outlier does not make, few enough to forget. */
const SAMPLES_MAX = 50

/** How long the last answers took. */
export class LatencyWindow {
  readonly #samplesMs: number[] = []
  #next = 0

  add(ms: number): void {
    this.#samplesMs[this.#next] = ms
    this.#next = (this.#next + 1) % SAMPLES_MAX
  }

  get size(): number {
    return this.#samplesMs.length
  }

  /** The quickest in milliseconds: about what the way there and back takes; 0 before the first answer. */
  minMs(): number {
    return this.#samplesMs.length === 0 ? 0 : Math.min(...this.#samplesMs)
  }

  /** The 95th percentile in milliseconds; null before the first answer. */
  p95Ms(): number | null {
    const sorted = [...this.#samplesMs].sort((a, b) => a - b)
    return sorted[Math.ceil(sorted.length * 0.95) - 1] ?? null
  }
}
