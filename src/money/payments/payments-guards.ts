import type { Guard } from '#store/guard.ts'

export const paymentsGuards: readonly Guard[] = [
  {
    table: 'claims',
    name: 'claims_stay_with_money',
    on: 'delete',
    when: 'old.was_credited = 1',
  },
  {
    table: 'claims',
    name: 'claims_keep_who_they_are',
    on: 'update',
    columns: ['id', 'public_id', 'tx_hash', 'owner', 'created_unix'],
    when: `new.id <> old.id or new.public_id <> old.public_id or new.tx_hash <> old.tx_hash
    or new.owner <> old.owner or new.created_unix <> old.created_unix`,
  },
  {
    table: 'claims',
    name: 'claims_stay_credited',
    on: 'update',
    columns: ['was_credited'],
    when: 'new.was_credited < old.was_credited',
  },
  { table: 'credits', name: 'credits_stay', on: 'delete' },
  {
    table: 'credits',
    name: 'credits_never_change',
    on: 'update',
    columns: [
      'id',
      'account',
      'owner',
      'claim_id',
      'chain_id',
      'tx_hash',
      'position_in_tx',
      'block_number',
      'block_hash',
      'log_index',
      'payer_address',
      'micro_usd',
      'created_unix',
    ],
  },
  {
    table: 'credits',
    name: 'credits_are_reversed_once',
    on: 'update',
    columns: ['reversed_unix'],
    when: 'old.reversed_unix is not null',
  },
]
