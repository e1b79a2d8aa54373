import type { GaugeReading } from '#serving/api/metrics.ts'
import {
  anomalyGauges,
  type IndexGaugeDeps,
  progressGauges,
  registerGauges,
} from './index-gauges.ts'
import { type JobGaugeDeps, jobGauges } from './job-gauges.ts'
import { ledgerGauges } from './ledger-gauges.ts'
import { paymentGauges } from './payment-gauges.ts'
import { type ProcessGaugeDeps, processGauges } from './process-gauges.ts'
import { type SettlingGaugeDeps, settlingGauges } from './settling-gauges.ts'
import { poolGauges, type WatchedStores } from './store-gauges.ts'
import { webhookGauges } from './webhook-gauges.ts'

export interface GaugeDeps extends IndexGaugeDeps, JobGaugeDeps, ProcessGaugeDeps {
  readonly stores: WatchedStores
  /** Undefined where x402 payments are not settled. */
  readonly settling: SettlingGaugeDeps | undefined
}

/** The gauges of a process that serves the API. Pools come first, before the scrape takes connections. */
export function gaugesOf(deps: GaugeDeps): readonly GaugeReading[] {
  return [
    ...poolGauges(deps),
    ...processGauges(deps),
    ...jobGauges(deps),
    ...paymentGauges(deps),
    ...webhookGauges(deps.stores.accounts),
    ...ledgerGauges({ engine: deps.stores.accounts, clock: deps.clock }),
    ...registerGauges(deps),
    ...anomalyGauges(deps),
    ...progressGauges(deps),
    ...settlingGauges(deps.settling),
  ]
}
