import type { Guard } from '#store/guard.ts'

/** What the database itself refuses to do to the journal, the balances and the spend of a day. */
export const ledgerGuards: readonly Guard[] = [
  { table: 'journal_entries', name: 'entries_never_change', on: 'update' },
  { table: 'journal_entries', name: 'entries_stay', on: 'delete' },
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
  { table: 'postings', name: 'postings_never_change', on: 'update' },
  { table: 'postings', name: 'postings_stay', on: 'delete' },
  {
    table: 'postings',
    name: 'postings_come_with_their_entry',
    on: 'insert',
    when: 'exists (select 1 from journal_entries where id = new.entry_id)',
    quietly: true,
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
      or new.price_micro_usd <> old.price_micro_usd or new.calls < old.calls
      or new.returned < old.returned or new.closings < old.closings
      or (new.posted_micro_usd <> old.posted_micro_usd and new.closings = old.closings)`,
  },
]

/** Days of the time before calls had a price are as they were; no other day is without one. */
export const priceGuards: readonly Guard[] = [
  {
    table: 'spend_days',
    name: 'spend_days_have_a_price',
    on: 'insert',
    when: 'new.price_micro_usd = 0',
  },
  {
    table: 'spend_days',
    name: 'spend_days_without_price_stay',
    on: 'update',
    when: `old.price_micro_usd = 0 and (new.calls <> old.calls or new.returned <> old.returned
      or new.micro_usd <> old.micro_usd)`,
  },
]

const ACCRUES_ANOTHER = `new.accruing_day <> old.accruing_day
  or new.accruing_price_micro_usd <> old.accruing_price_micro_usd`

/**
 * Paid calls accrue beside the balance, of one day and price. When another begins, or none,
 * the database itself brings them to the row of their day and marks the row that accrues now.
 */
export const accrualGuards: readonly Guard[] = [
  {
    table: 'balances',
    name: 'accrued_calls_come_to_their_day',
    on: 'update',
    after: true,
    columns: ['accruing_day', 'accruing_price_micro_usd'],
    when: ACCRUES_ANOTHER,
    does: [
      `insert into spend_days (account, day, price_micro_usd, calls, micro_usd, is_accruing)
        select old.account, old.accruing_day, old.accruing_price_micro_usd, old.accruing_calls,
          old.accruing_calls * old.accruing_price_micro_usd, 0
        where old.accruing_price_micro_usd > 0
        on conflict (account, day, price_micro_usd) do update set
          calls = spend_days.calls + excluded.calls,
          micro_usd = spend_days.micro_usd + excluded.micro_usd, is_accruing = 0`,
      `insert into spend_days (account, day, price_micro_usd, calls, micro_usd, is_accruing)
        select new.account, new.accruing_day, new.accruing_price_micro_usd, 0, 0, 1
        where new.accruing_price_micro_usd > 0
        on conflict (account, day, price_micro_usd) do update set is_accruing = 1`,
    ],
  },
  {
    table: 'balances',
    name: 'accruing_calls_only_grow',
    on: 'update',
    after: true,
    columns: ['accruing_calls'],
    when: `new.accruing_calls < old.accruing_calls and not (${ACCRUES_ANOTHER})`,
  },
]
