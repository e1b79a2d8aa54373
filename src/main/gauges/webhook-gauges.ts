import type { GaugeReading } from '#api/metrics.ts'
import type { Engine } from '#store/engine.ts'
import { countDelivered, countStates } from '#webhooks/webhook-store.ts'

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
