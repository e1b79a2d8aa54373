import { oncePerContext } from '#context.ts'

type AdmissionSource = 'quota' | 'prepaid' | 'exhausted' | 'limited'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
/** A commit waits for the local disk or for the database's. */
const COMMIT_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 2.5]

const CLASSES = [1, 2, 3, 4, 5]

interface RouteCounts {
  readonly byClass: number[]
  readonly seconds: Distribution
}

/**
 * Counts requests in plain numbers, because the metrics library hashes labels for each value.
 */
class CallCounts {
  readonly #routes = new Map<string, RouteCounts>()
  readonly #admissions = { quota: 0, prepaid: 0, exhausted: 0, limited: 0 }
  readonly #commits = new Distribution(COMMIT_SECONDS)

  addRequest(path: string, status: number, durationMs: number): void {
    let route = this.#routes.get(path)
    if (route === undefined) {
      route = { byClass: [0, 0, 0, 0, 0, 0], seconds: new Distribution(SECONDS) }
      this.#routes.set(path, route)
    }
    const statusClass = Math.floor(status / 100)
    route.byClass[statusClass] = (route.byClass[statusClass] ?? 0) + 1
    route.seconds.add(durationMs / 1000)
  }

  addAdmission(source: AdmissionSource): void {
    this.#admissions[source] += 1
  }

  addCommit(seconds: number): void {
    this.#commits.add(seconds)
  }

  /** Writes the Prometheus text format 0.0.4. Paths are our own, so they need no escaping. */
  text(): string {
    const routes = [...this.#routes]
    return [
      ...head('sexton_requests_total', 'counter', 'Answered requests by route and class of status'),
      ...routes.flatMap(([path, { byClass }]) =>
        CLASSES.filter((each) => byClass[each] !== 0).map(
          (each) => `sexton_requests_total{route="${path}",status="${each}xx"} ${byClass[each]}`,
        ),
      ),
      ...head(
        'sexton_request_duration_seconds',
        'histogram',
        'Time from the headers of a request to its answer',
      ),
      ...routes.flatMap(([path, { seconds }]) =>
        seconds.lines('sexton_request_duration_seconds', `route="${path}"`),
      ),
      ...head('sexton_admissions_total', 'counter', 'Decisions of the meter by what paid'),
      ...Object.entries(this.#admissions)
        .filter(([, count]) => count > 0)
        .map(([source, count]) => `sexton_admissions_total{source="${source}"} ${count}`),
      ...head('sexton_meter_commit_seconds', 'histogram', 'From a batch to its durable commit'),
      ...this.#commits.lines('sexton_meter_commit_seconds'),
      '',
    ].join('\n')
  }
}

export const callCounts = oncePerContext(() => new CallCounts())

function head(name: string, type: 'counter' | 'histogram', help: string): readonly string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`]
}

/** A Prometheus histogram in plain numbers; its text is built on scrape. */
export class Distribution {
  readonly #bounds: readonly number[]
  readonly #counts: number[]
  #sum = 0

  /** Bounds ascend; a value equal to a bound counts in that bucket. */
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
