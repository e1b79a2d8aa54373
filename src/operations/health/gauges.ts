import type { GaugeReading } from '#serving/api/metrics.ts'
import {
  anomalyGauge,
  endpointGauges,
  type IndexGaugeDeps,
  registerGauges,
} from './index-gauges.ts'
import { type JobGaugeDeps, jobGauges } from './job-gauges.ts'
import { ledgerGauges } from './ledger-gauges.ts'
import { paymentGauges } from './payment-gauges.ts'
import { type ProcessGaugeDeps, processGauges } from './process-gauges.ts'
import { type SettlingGaugeDeps, settlingGauges } from './settling-gauges.ts'
import { poolGauge, type WatchedStores } from './store-gauges.ts'

export interface GaugeDeps extends IndexGaugeDeps, JobGaugeDeps, ProcessGaugeDeps {
  readonly stores: WatchedStores
  /** Undefined where x402 payments are not settled. */
  readonly settling: SettlingGaugeDeps | undefined
}

/** The gauges of a process that serves the API. Pools come first, before the scrape takes connections. */
export function gaugesOf(deps: GaugeDeps): readonly GaugeReading[] {
  return [
    poolGauge(deps),
    ...processGauges(deps),
    ...jobGauges(deps),
    ...paymentGauges(deps),
    ...ledgerGauges({ engine: deps.stores.accounts, clock: deps.clock }),
    ...registerGauges(deps),
    anomalyGauge(deps),
    ...endpointGauges(deps),
    ...settlingGauges(deps.settling),
  ]
}
