import type { GaugeReading } from '#serving/api/metrics.ts'
import { countDelivered, countStates } from '#serving/webhooks/webhook-store.ts'
import type { Engine } from '#store/engine.ts'

export function webhookGauges(accounts: Engine): readonly GaugeReading[] {
  return [
    {
      name: 'sexton_webhooks',
      help: 'Webhooks, by state',
      read: () => accounts.snapshot(countStates),
    },
    {
      name: 'sexton_webhook_delivered',
      help: 'Events delivered to the webhooks that there are',
      read: () => accounts.snapshot(countDelivered),
    },
  ]
}
