import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, Gauge, type Registry } from 'prom-client'
import { getMeter } from '#accounts/metering/meter/meter.ts'
import { type Context, getRegistry } from '#context.ts'

export interface GaugeReading {
  readonly name: string
  readonly help: string
  /** `gauge` unless given. */
  readonly type?: 'counter'
  /** Values keyed by the label `of`, or one value without a label. */
  read(): Promise<Readonly<Record<string, number>> | number>
}

export type Metrics = ReturnType<typeof createMetrics>

/** A finer resolution would itself disturb the event loop. */
const DELAY_RESOLUTION_MS = 20

export function createMetrics(ctx: Context, gauges: readonly GaugeReading[]) {
  const registry = getRegistry(ctx)
  for (const gauge of gauges) registerGauge(registry, gauge)
  // The meter registers metrics of its own.
  getMeter(ctx)
  const delay = registerEventLoopDelay(registry)
  return {
    text: () => registry.metrics(),
    contentType: registry.contentType,
    stop: () => delay.disable(),
  }
}

/** Exports no values while they cannot be read. */
function registerGauge(registry: Registry, { name, help, type, read }: GaugeReading): void {
  const settings = { name, help, labelNames: ['of'], registers: [registry], collect }
  const metric: Counter | Gauge = type === 'counter' ? new Counter(settings) : new Gauge(settings)
  async function collect() {
    const values = await read().catch(() => ({}))
    metric.reset()
    if (typeof values === 'number') return metric.inc(values)
    for (const [of, value] of Object.entries(values)) metric.inc({ of }, value)
  }
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
