import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'

/** A number that is read when somebody looks. */
export interface GaugeReading {
  readonly name: string
  readonly help: string
  /** Values by label text; the label is called `of`. */
  read(): Promise<Readonly<Record<string, number>>>
}

export interface Metrics {
  /** Counts an answered request; about a third of a microsecond. */
  observeRequest(path: string | undefined, status: number, durationMs: number): void
  observeAdmission(source: 'quota' | 'prepaid' | 'exhausted' | 'refunded'): void
  observeBatch(size: number): void
  /** The text of a scrape (Prometheus exposition format). */
  text(): Promise<string>
  readonly contentType: string
  stop(): void
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
const SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256]

/** A finer resolution would itself disturb the event loop. */
const DELAY_RESOLUTION_MS = 20

/** Makes the metrics of one process, in a registry of their own. */
export function createMetrics(gauges: readonly GaugeReading[]): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const admissions = new Counter({
    name: 'sexton_admissions_total',
    help: 'Decisions of the meter by what paid',
    labelNames: ['source'],
    registers,
  })
  const batches = new Histogram({
    name: 'sexton_meter_batch_size',
    help: 'Requests decided in one transaction',
    buckets: SIZES,
    registers,
  })
  for (const gauge of gauges) registerGauge(registry, gauge)
  const delay = registerEventLoopDelay(registry)
  return {
    observeRequest: requestObserver(registry),
    observeAdmission: (source) => admissions.labels(source).inc(),
    observeBatch: (size) => batches.observe(size),
    text: () => registry.metrics(),
    contentType: registry.contentType,
    stop: () => delay.disable(),
  }
}

interface Bound {
  readonly byClass: Map<number, { inc(): void }>
  readonly duration: { observe(seconds: number): void }
}

/** Looks labels up once per route: hashing them for each request costs more than counting. */
function requestObserver(registry: Registry): Metrics['observeRequest'] {
  const registers = [registry]
  const requests = new Counter({
    name: 'sexton_requests_total',
    help: 'Answered requests by route and class of status',
    labelNames: ['route', 'status'],
    registers,
  })
  const durations = new Histogram({
    name: 'sexton_request_duration_seconds',
    help: 'Time from the headers of a request to its answer',
    labelNames: ['route'],
    buckets: SECONDS,
    registers,
  })
  const routes = new Map<string, Bound>()
  return (path = 'none', status, durationMs) => {
    let bound = routes.get(path)
    if (bound === undefined) {
      bound = { byClass: new Map(), duration: durations.labels(path) }
      routes.set(path, bound)
    }
    const statusClass = Math.floor(status / 100)
    let counter = bound.byClass.get(statusClass)
    if (counter === undefined) {
      counter = requests.labels(path, `${statusClass}xx`)
      bound.byClass.set(statusClass, counter)
    }
    counter.inc()
    bound.duration.observe(durationMs / 1000)
  }
}

function registerGauge(registry: Registry, reading: GaugeReading): void {
  new Gauge({
    name: reading.name,
    help: reading.help,
    labelNames: ['of'],
    registers: [registry],
    async collect() {
      const values = await reading.read().catch(() => ({}))
      this.reset()
      for (const [of, value] of Object.entries(values)) this.set({ of }, value)
    },
  })
}

function registerEventLoopDelay(registry: Registry) {
  const delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS })
  delay.enable()
  new Gauge({
    name: 'sexton_event_loop_delay_seconds',
    help: 'Delay of the event loop since the last scrape',
    labelNames: ['of'],
    registers: [registry],
    collect() {
      for (const percentile of [50, 99, 100])
        this.set({ of: `p${percentile}` }, delay.percentile(percentile) / 1e9)
      delay.reset()
    },
  })
  return delay
}
