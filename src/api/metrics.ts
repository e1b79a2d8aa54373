import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Gauge, Registry } from 'prom-client'
import { type AdmissionSource, CallCounts } from './call-counts.ts'

export interface GaugeReading {
  readonly name: string
  readonly help: string
  /** Values by the text of the label `of`. */
  read(): Promise<Readonly<Record<string, number>>>
}

export interface Metrics {
  observeRequest(path: string | undefined, status: number, durationMs: number): void
  observeAdmission(source: AdmissionSource): void
  observeBatch(size: number): void
  text(): Promise<string>
  readonly contentType: string
  stop(): void
}

/** A finer resolution would itself disturb the event loop. */
const DELAY_RESOLUTION_MS = 20

export function createMetrics(gauges: readonly GaugeReading[]): Metrics {
  const registry = new Registry()
  const calls = new CallCounts()
  for (const gauge of gauges) registerGauge(registry, gauge)
  const delay = registerEventLoopDelay(registry)
  return {
    observeRequest: (path = 'none', status, durationMs) =>
      calls.addRequest(path, status, durationMs),
    observeAdmission: (source) => calls.addAdmission(source),
    observeBatch: (size) => calls.addBatch(size),
    text: async () => `${calls.text()}${await registry.metrics()}`,
    contentType: registry.contentType,
    stop: () => delay.disable(),
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
