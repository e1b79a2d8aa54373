import { readUnproven } from '#chains/datasets/deposits/proof/deposit-proofs.ts'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import type { GaugeReading } from '#serving/api/metrics.ts'
import type { WatchedStores } from './store-gauges.ts'

interface PaymentGaugeDeps {
  readonly ecosystem: Pick<Ecosystem, 'payment'>
  readonly stores: WatchedStores
}

export function paymentGauges({ ecosystem, stores }: PaymentGaugeDeps): readonly GaugeReading[] {
  const chain = ecosystem.payment?.chain
  if (chain === undefined) return []
  return [
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
