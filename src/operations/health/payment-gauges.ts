import { readUnproven } from '#chains/datasets/deposits/proof/deposit-proofs.ts'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { type Clock, unixNow } from '#lib/time.ts'
import { countOpenClaims } from '#money/payments/claim-store.ts'
import type { GaugeReading } from '#serving/api/metrics.ts'
import type { WatchedStores } from './store-gauges.ts'

interface PaymentGaugeDeps {
  readonly ecosystem: Pick<Ecosystem, 'payment'>
  readonly stores: WatchedStores
  readonly clock: Clock
}

export function paymentGauges({
  ecosystem,
  stores,
  clock,
}: PaymentGaugeDeps): readonly GaugeReading[] {
  const chain = ecosystem.payment?.chain
  if (chain === undefined) return []
  const openClaims = () =>
    stores.accounts.snapshot((reads) => countOpenClaims(reads, unixNow(clock)))
  return [
    {
      name: 'sexton_prepayments_open',
      help: 'Prepayments of the last day that wait for their transfer or its confirmations',
      read: async () => ({ open: (await openClaims()).count }),
    },
    {
      name: 'sexton_prepayments_oldest_seconds',
      help: 'Age of the oldest open prepayment',
      async read() {
        const { oldestUnix } = await openClaims()
        return { open: oldestUnix === null ? 0 : unixNow(clock) - oldestUnix }
      },
    },
    {
      name: 'sexton_deposits_unproven',
      help: 'Deposits whose proof failed so far, by chain',
      async read() {
        const found = await stores.register.snapshot((reads) => readUnproven(reads, chain.id))
        return { [chain.name]: found?.count ?? 0 }
      },
    },
  ]
}
