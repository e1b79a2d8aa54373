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

export interface Metrics {
  text(): Promise<string>
  readonly contentType: string
  stop(): void
}

/** A finer resolution would itself disturb the event loop. */
const DELAY_RESOLUTION_MS = 20

export function createMetrics(ctx: Context, gauges: readonly GaugeReading[]): Metrics {
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
  const common = { name, help, labelNames: ['of'], registers: [registry] }
  const entries = async (): Promise<readonly (readonly [{ of?: string }, number])[]> => {
    const values = await read().catch(() => ({}))
    if (typeof values === 'number') return [[{}, values]]
    return Object.entries(values).map(([of, value]) => [{ of }, value])
  }
  if (type === 'counter')
    new Counter({
      ...common,
      async collect() {
        const now = await entries()
        this.reset()
        for (const [labels, value] of now) this.inc(labels, value)
      },
    })
  else
    new Gauge({
      ...common,
      async collect() {
        const now = await entries()
        this.reset()
        for (const [labels, value] of now) this.set(labels, value)
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
