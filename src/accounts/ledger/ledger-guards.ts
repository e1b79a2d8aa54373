import { appendOnly, type Guard } from '#store/guard.ts'

export const ledgerGuards: readonly Guard[] = [
  ...appendOnly('journal_entries', 'entries'),
  {
    table: 'journal_entries',
    name: 'entries_are_posted_once',
    on: 'insert',
    when: 'exists (select 1 from journal_entries where id = new.id)',
    quietly: true,
  },
  {
    table: 'journal_entries',
    name: 'entries_sum_to_zero',
    on: 'insert',
    when: `(select coalesce(sum(micro_usd), 1) from postings where entry_id = new.id) <> 0
      or (select count(*) from postings where entry_id = new.id) < 2`,
  },
  ...appendOnly('postings'),
  {
    table: 'postings',
    name: 'postings_come_with_their_entry',
    on: 'insert',
    when: 'exists (select 1 from journal_entries where id = new.entry_id)',
    quietly: true,
  },
  { table: 'restores', name: 'restores_stay', on: 'delete' },
  {
    table: 'restores',
    name: 'restores_keep_their_time',
    on: 'update',
    when: 'old.restored_unix is not null',
  },
  { table: 'balances', name: 'balances_stay', on: 'delete' },
  {
    table: 'balances',
    name: 'balances_keep_their_account',
    on: 'update',
    columns: ['account', 'prepaid'],
    when: 'new.account <> old.account or new.prepaid <> old.prepaid',
  },
  { table: 'spend_days', name: 'spend_days_stay', on: 'delete' },
  {
    table: 'spend_days',
    name: 'spend_days_only_grow',
    on: 'update',
    when: `new.account <> old.account or new.day <> old.day
      or new.price_micro_usd <> old.price_micro_usd or new.calls < old.calls`,
  },
]
