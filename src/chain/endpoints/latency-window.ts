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

  /** The 95th percentile in milliseconds; null before the first answer. */
  p95Ms(): number | null {
    const sorted = [...this.#samplesMs].sort((a, b) => a - b)
    return sorted[Math.ceil(sorted.length * 0.95) - 1] ?? null
  }
}
