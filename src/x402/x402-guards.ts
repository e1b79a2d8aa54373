import type { Guard } from '#store/guard.ts'

export const x402Guards: readonly Guard[] = [
  // Only intents that moved nothing may be deleted.
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
  // A credit is collected at most once.
  { table: 'x402_collected', name: 'x402_collected_stay', on: 'delete' },
  { table: 'x402_collected', name: 'x402_collected_never_change', on: 'update' },
  { table: 'x402_replaced', name: 'x402_replaced_stay', on: 'delete' },
  { table: 'x402_replaced', name: 'x402_replaced_never_change', on: 'update' },
]
