/** Prometheus histogram in plain numbers; the text is built on scrape. */
export class Distribution {
  readonly #bounds: readonly number[]
  readonly #counts: number[]
  #sum = 0

  /** Bounds ascend; a value equal to a bound counts below it. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = [...bounds, Number.POSITIVE_INFINITY].map(() => 0)
  }

  add(value: number): void {
    let at = 0
    while (value > (this.#bounds[at] ?? Number.POSITIVE_INFINITY)) at += 1
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
    this.#sum += value
  }

  /** `label` is an extra label, `name="value"`. */
  lines(name: string, label?: string): readonly string[] {
    const own = label === undefined ? '' : `{${label}}`
    const more = label === undefined ? '' : `,${label}`
    let below = 0
    const buckets = this.#counts.map((count, at) => {
      below += count
      return `${name}_bucket{le="${this.#bounds[at] ?? '+Inf'}"${more}} ${below}`
    })
    return [...buckets, `${name}_sum${own} ${this.#sum}`, `${name}_count${own} ${below}`]
  }
}
