import type { Guard } from '#store/guard.ts'

export const x402Guards: readonly Guard[] = [
  // Only payments that moved nothing may be deleted.
  {
    table: 'x402_intents',
    name: 'x402_intents_stay',
    on: 'delete',
    when: "old.status <> 'abandoned'",
  },
  {
    table: 'x402_intents',
    name: 'x402_intents_keep_what_was_signed',
    on: 'update',
    columns: [
      'id',
      'chain_id',
      'asset',
      'payer',
      'nonce',
      'pay_to',
      'micro_usd',
      'payee_kind',
      'payee',
      'payee_wallet',
      'created_unix',
    ],
  },
  {
    table: 'x402_intents',
    name: 'x402_intents_send_nothing_once_abandoned',
    on: 'update',
    columns: ['status'],
    when: "old.status in ('abandoned', 'failed') and new.status in ('reserved', 'submitted')",
  },
]
