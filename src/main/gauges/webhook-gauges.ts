import type { GaugeReading } from '#api/metrics.ts'
import type { Engine } from '#store/engine.ts'
import { countQueues, countWebhooks } from '#webhooks/count-webhooks.ts'

export function webhookGauges(accounts: Engine): readonly GaugeReading[] {
  return [
    {
      name: 'sexton_webhooks',
      help: 'Webhooks, by state',
      read: async () => (await accounts.snapshot(countWebhooks)).states,
    },
    {
      name: 'sexton_webhook_events',
      help: 'Events that wait to be sent, and dead letters',
      read: async () => ({ ...(await accounts.snapshot(countQueues)) }),
    },
    {
      name: 'sexton_webhook_delivered',
      help: 'Events delivered to the webhooks that there are',
      read: async () => (await accounts.snapshot(countWebhooks)).delivered,
    },
  ]
}
