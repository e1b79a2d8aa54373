-- Written by tools/schema.ts from the tables of each room (*tables.ts); do not edit. PostgreSQL has the same tables.

-- accounts
create table balances (
  account text primary key,
  -- Exact as a number in JavaScript.
  micro_usd bigint not null
    check (micro_usd between -9007199254740991 and 9007199254740991),
  -- What the last debit granted: an upsert returns only what its row holds.
  granted_calls bigint not null default 0,
  check (micro_usd >= 0 or account like 'chain_in:%' or account like 'receivable:%')
);
create table journal_entries (
  id text primary key,
  kind text not null,
  reference text not null,
  created_unix bigint not null
);
create table postings (
  entry_id text not null references journal_entries (id) deferrable initially deferred,
  line bigint not null,
  account text not null,
  micro_usd bigint not null check (micro_usd <> 0),
  primary key (entry_id, line)
);
create index postings_by_account on postings (account, entry_id);
create table spend_days (
  day bigint not null,
  account text not null,
  price_micro_usd bigint not null check (price_micro_usd > 0),
  calls bigint not null,
  micro_usd bigint not null check (micro_usd >= 0),
  primary key (day, account, price_micro_usd),
  check (micro_usd = calls * price_micro_usd)
);
create index spend_days_by_account on spend_days (account, day);
create table restores (restored_unix bigint);
-- guard entries_never_change on journal_entries
-- guard entries_stay on journal_entries
-- guard entries_are_posted_once on journal_entries
-- guard entries_sum_to_zero on journal_entries
-- guard postings_never_change on postings
-- guard postings_stay on postings
-- guard postings_come_with_their_entry on postings
-- guard restores_stay on restores
-- guard restores_keep_their_time on restores
-- guard balances_stay on balances
-- guard balances_keep_their_account on balances
-- guard spend_days_stay on spend_days
-- guard spend_days_only_grow on spend_days
create table wallets (
  wallet text primary key,
  active_keys bigint not null check (active_keys >= 0),
  premium smallint,
  premium_unix bigint
);
create table keys (
  public_id text primary key,
  secret_digest text not null unique,
  wallet text not null references wallets (wallet),
  label text,
  created_unix bigint not null,
  revoked_unix bigint,
  successor text references keys (public_id) deferrable initially deferred,
  limits text
);
create index keys_by_wallet on keys (wallet, created_unix, public_id);
create index keys_by_successor on keys (successor) where successor is not null;
create table used_messages (
  digest text primary key,
  wallet text not null,
  action text not null,
  used_unix bigint not null
);
create table usage_days (
  day bigint not null,
  bucket text not null,
  used bigint not null check (used >= 0),
  paid bigint not null check (paid >= 0),
  -- What the last batch granted: an upsert returns only what its row holds.
  granted bigint not null,
  quota bigint not null,
  quota_most bigint not null check (used <= quota_most),
  primary key (day, bucket)
);
create index usage_days_by_bucket on usage_days (bucket, day);
create table key_days (
  day bigint not null,
  public_id text not null,
  used bigint not null check (used >= 0),
  primary key (day, public_id)
);
create index key_days_by_key on key_days (public_id, day);
-- guard keys_stay on keys
-- guard keys_keep_who_they_are on keys
-- guard keys_stay_revoked on keys
-- guard used_messages_never_change on used_messages
-- guard used_messages_stay on used_messages
-- guard usage_days_pay_after_the_quota on usage_days
-- guard usage_days_only_grow on usage_days
create table leaders (
  name text primary key,
  epoch bigint not null
);
create table deposits (
  chain_id bigint not null,
  tx_hash text not null,
  position_in_tx bigint not null,
  block_number bigint not null,
  block_hash text not null,
  log_index bigint not null,
  timestamp_unix bigint not null,
  sender text not null,
  recipient text not null,
  amount text not null,
  proven smallint not null,
  -- Of an unproven one: the last try.
  tried_unix bigint not null default 0,
  unproven_because text,
  primary key (chain_id, tx_hash, position_in_tx)
);
create index deposits_by_block on deposits (chain_id, block_number);
create index deposits_unproven on deposits (tried_unix, block_number) where proven = 0;
create table deposit_scans (
  chain_id bigint primary key,
  filter text not null,
  -- The last block that was read at the head.
  number bigint not null,
  hash text not null,
  timestamp_unix bigint not null,
  finalized_number bigint not null,
  -- Final blocks are read again up to this one: a node may have left out a log at the head.
  reread_number bigint not null
);
create table claims (
  id text primary key,
  public_id text not null,
  tx_hash text not null,
  owner text not null,
  payer_address text not null,
  by_owner smallint not null,
  trust smallint not null,
  claimed_micro_usd bigint not null,
  created_unix bigint not null,
  opened_unix bigint not null,
  was_credited smallint not null default 0,
  unique (public_id, tx_hash)
);
create index claims_by_tx on claims (tx_hash, created_unix, id);
create index claims_by_opening on claims (opened_unix, id);
create index claims_uncredited on claims (opened_unix, id) where was_credited = 0;
create table claim_proofs (
  claim_id text not null references claims (id),
  payer_address text not null,
  message text not null,
  signature text not null,
  by_contract smallint not null default 0,
  primary key (claim_id, payer_address)
);
create table credits (
  id text primary key,
  account text not null,
  owner text not null,
  claim_id text references claims (id),
  chain_id bigint not null,
  tx_hash text not null,
  position_in_tx bigint not null,
  block_number bigint not null,
  block_hash text not null,
  log_index bigint not null,
  payer_address text not null,
  micro_usd bigint not null check (micro_usd > 0),
  created_unix bigint not null,
  reversed_unix bigint,
  settled smallint not null default 0,
  restored smallint not null default 0
);
create unique index credits_live on credits (chain_id, tx_hash, position_in_tx)
where reversed_unix is null;
create unique index credits_live_log on credits (chain_id, block_hash, tx_hash, log_index)
where reversed_unix is null;
create index credits_by_claim on credits (claim_id);
create index credits_unsettled on credits (block_number)
where reversed_unix is null and settled = 0;
create index credits_unrestored on credits (chain_id, tx_hash, position_in_tx)
where reversed_unix is not null and restored = 0;
-- guard claims_stay_with_money on claims
-- guard claims_keep_who_they_are on claims
-- guard claims_stay_credited on claims
-- guard credits_stay on credits
-- guard credits_never_change on credits
-- guard credits_are_reversed_once on credits
create table x402_intents (
  id text primary key,
  chain_id bigint not null,
  asset text not null,
  payer text not null,
  nonce text not null,
  pay_to text not null,
  micro_usd bigint not null check (micro_usd > 0),
  valid_after bigint not null,
  valid_before bigint not null,
  signature text not null,
  payee_kind text not null check (payee_kind in ('key', 'bucket')),
  payee text not null,
  payee_wallet text,
  payee_own bigint not null default 1,
  status text not null check (status in ('open', 'credited', 'failed')),
  created_unix bigint not null,
  from_block bigint not null,
  tx_hash text,
  served bigint not null default 0,
  credit_id text unique references credits (id),
  check (served = 0 or credit_id is not null),
  unique (chain_id, asset, payer, nonce)
);
create index x402_intents_open on x402_intents (created_unix, id) where status = 'open';
create table x402_facilitator (
  id bigint primary key check (id = 1),
  -- The most that transactions of the newest day may have cost.
  gas_day bigint not null default 0,
  gas_gwei bigint not null default 0
);
-- guard x402_intents_stay on x402_intents
-- guard x402_intents_keep_what_was_signed on x402_intents
-- guard x402_intents_send_nothing_once_failed on x402_intents
create table webhooks (
  id text primary key,
  public_id text not null,
  wallet text not null,
  url text not null,
  description text,
  filter text not null,
  secret text not null,
  enabled bigint not null default 1,
  reason text,
  cursor text not null,
  attempts bigint not null default 0,
  failing_unix bigint,
  due_ms bigint not null default 0,
  delivered bigint not null default 0,
  answer text,
  answer_unix bigint,
  created_unix bigint not null
);
create index webhooks_by_key on webhooks (public_id, created_unix, id);
create index webhooks_by_wallet on webhooks (wallet);
create table registers (
  name text primary key,
  made_unix bigint not null,
  -- When it had first caught up with every chain.
  whole_unix bigint,
  served_unix bigint not null
);

-- register
create table leaders (
  name text primary key,
  epoch bigint not null
);
create table positions (
  chain_id bigint primary key,
  number bigint not null,
  hash text not null,
  timestamp_unix bigint not null,
  head_number bigint not null,
  safe_number bigint not null,
  finalized_number bigint not null
);
create table blocks (
  chain_id bigint not null,
  number bigint not null,
  hash text not null,
  parent_hash text not null,
  timestamp_unix bigint not null,
  primary key (chain_id, number)
);
create table anomalies (
  chain_id bigint not null,
  block_number bigint not null,
  place bigint not null,
  dataset text not null,
  block_hash text not null,
  tx_hash text not null,
  contract text not null,
  kind text not null,
  reason text not null,
  primary key (chain_id, block_number, place, dataset)
);
create index anomalies_newest on anomalies (kind, chain_id, block_number);
create index anomalies_of_contract on anomalies (chain_id, dataset, contract);
create table chain_notes (
  chain_id bigint primary key,
  stall text,
  stall_detail text
);
create table feed (
  name text primary key,
  epoch text not null,
  last bigint not null,
  pruned bigint not null
);
create table changes (
  sequence bigint primary key,
  op text not null,
  dataset text not null,
  chain_id bigint not null,
  block_number bigint not null,
  place bigint not null,
  tx_hash text not null,
  timestamp_unix bigint not null,
  kind text not null,
  token text not null,
  account text,
  amount text not null,
  detail text,
  usd text,
  written_unix bigint not null
);
create index changes_at on changes (dataset, chain_id, block_number, place, token);
create table unknown_figures (
  chain_id bigint not null,
  dataset text not null,
  contract text not null,
  reason text not null,
  detail text not null,
  primary key (chain_id, dataset, contract, reason)
);
create table found_contracts (
  chain_id bigint not null,
  origin text not null,
  contract text not null,
  block_number bigint not null,
  primary key (chain_id, origin, contract)
);
create table events (
  dataset text not null,
  chain_id bigint not null,
  block_number bigint not null,
  place bigint not null,
  block_hash text not null,
  tx_hash text not null,
  timestamp_unix bigint not null,
  kind text not null,
  token text not null,
  account text,
  amount text not null,
  detail text,
  counted integer not null,
  valued integer not null,
  usd text,
  primary key (dataset, chain_id, block_number, place)
);
create index events_newest on events (dataset, timestamp_unix, chain_id, block_number, place);
create index events_of_chain on events (dataset, chain_id, timestamp_unix, block_number, place);
create index events_of_account on events (dataset, account, timestamp_unix, chain_id, block_number, place);
create index events_of_account_and_token on events
(dataset, account, token, timestamp_unix, chain_id, block_number, place)
where account is not null;
create index events_of_account_and_chain on events
(dataset, account, chain_id, timestamp_unix, block_number, place)
where account is not null;
create index events_of_token on events (token, timestamp_unix);
create index events_of_token_and_chain on events
(dataset, token, chain_id, timestamp_unix, block_number, place);
create index events_of_transaction on events (tx_hash);
create index events_to_value on events (token, chain_id, timestamp_unix) where valued = 0;
create table event_buckets (
  dataset text not null,
  token text not null,
  chain_id bigint not null,
  grain text not null,
  bucket_unix bigint not null,
  amount text not null,
  usd text not null,
  events bigint not null,
  priced bigint not null,
  primary key (dataset, token, chain_id, grain, bucket_unix)
);
create index event_buckets_by_time on event_buckets (dataset, grain, bucket_unix);
create table event_account_sums (
  dataset text not null,
  account text not null,
  token text not null,
  amount text not null,
  usd text not null,
  events bigint not null,
  priced bigint not null,
  first_unix bigint,
  last_unix bigint,
  primary key (dataset, account, token)
);
create table event_account_counts (
  dataset text primary key,
  accounts bigint not null
);
create table balances (
  token text not null,
  address text not null,
  chain_id bigint not null,
  balance text not null,
  last_unix bigint not null,
  primary key (token, address, chain_id)
);
create index balances_overdrawn on balances (token, chain_id, address) where balance < '1';
create index balances_by_size on balances (token, chain_id, balance, address);
create table holder_totals (
  token text not null,
  address text not null,
  balance text not null,
  primary key (token, address)
);
create index holder_totals_by_size on holder_totals (token, balance, address);
create table balance_deltas (
  chain_id bigint not null,
  block_number bigint not null,
  token text not null,
  address text not null,
  timestamp_unix bigint not null,
  received text not null,
  sent text not null,
  kept text not null,
  last_unix bigint,
  primary key (chain_id, block_number, token, address)
);
create index balance_deltas_of_address on balance_deltas (token, address, chain_id, block_number);
create table balance_hours (
  token text not null,
  address text not null,
  chain_id bigint not null,
  hour_unix bigint not null,
  block_number bigint not null,
  balance text not null,
  primary key (token, address, chain_id, hour_unix)
);
create index balance_hours_by_time on balance_hours (chain_id, hour_unix);
create table supply_buckets (
  token text not null,
  chain_id bigint not null,
  grain text not null,
  bucket_unix bigint not null,
  minted text not null,
  burned text not null,
  locked text not null,
  unlocked text not null,
  primary key (token, chain_id, grain, bucket_unix)
);
create index supply_buckets_by_time on supply_buckets (token, grain, bucket_unix);
create table holder_days (
  token text not null,
  address text not null,
  chain_id bigint not null,
  day_unix bigint not null,
  holds smallint not null,
  primary key (token, address, chain_id, day_unix)
);
create table holder_buckets (
  token text not null,
  grain text not null,
  bucket_unix bigint not null,
  gained bigint not null,
  lost bigint not null,
  primary key (token, grain, bucket_unix)
);
create table price_points (
  symbol text not null,
  chain_id bigint not null,
  block_number bigint not null,
  timestamp_unix bigint not null,
  price text,
  liquidity text,
  emitter text,
  primary key (symbol, chain_id, block_number)
);
create index price_points_by_time on price_points (symbol, timestamp_unix, block_number);
create index price_points_of_chain on price_points (chain_id, block_number);
create table price_hours (
  symbol text not null,
  hour_unix bigint not null,
  high text,
  low text,
  primary key (symbol, hour_unix)
);
create index grave_dig_leaders on event_account_sums
(token, amount desc, last_unix, account, events, first_unix)
where dataset = 'grave-digs';
