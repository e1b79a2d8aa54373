const SAMPLES_MAX = 50

export class LatencyWindow {
  readonly #samplesMs: number[] = []
  #next = 0

  add(ms: number): void {
    this.#samplesMs[this.#next] = ms
    this.#next = (this.#next + 1) % SAMPLES_MAX
  }

  p95Ms(): number | null {
    const sorted = [...this.#samplesMs].sort((a, b) => a - b)
    return sorted[Math.ceil(sorted.length * 0.95) - 1] ?? null
  }
}
