-- The accounts store of Sexton 0.1.0 on PostgreSQL.
create table migrations (id bigint primary key, name text not null);

-- 100 ledger
create table balances (
        account text primary key,
        prepaid smallint not null check (prepaid in (0, 1)),
        micro_usd bigint not null,
        granted_calls bigint not null default 0,
        check (prepaid = 0 or micro_usd >= 0)
      );
      create table journal_entries (
        id text primary key,
        kind text not null,
        reference text not null,
        created_unix bigint not null
      );
      create table postings (
        entry_id text not null references journal_entries (id),
        line bigint not null,
        account text not null,
        micro_usd bigint not null check (micro_usd <> 0),
        primary key (entry_id, line)
      );
      create index postings_by_account on postings (account, entry_id);
      create table spend_days (
        account text not null,
        day bigint not null,
        calls bigint not null check (calls >= 0),
        micro_usd bigint not null check (micro_usd >= 0),
        posted_micro_usd bigint not null default 0,
        closings bigint not null default 0,
        primary key (account, day)
      );
      create index spend_days_open on spend_days (day, account)
        where micro_usd <> posted_micro_usd;
insert into migrations (id, name) values (100, 'ledger');

-- 101 append-only journal
create function refuse_change() returns trigger language plpgsql as $$
    begin
      raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
    end $$;
    create trigger journal_entries_append_only before update or delete or truncate on journal_entries
      for each statement execute function refuse_change();
create trigger postings_append_only before update or delete or truncate on postings
      for each statement execute function refuse_change();
insert into migrations (id, name) values (101, 'append-only journal');

-- 102 spend by price
create table spend_days_by_price (
        account text not null,
        day bigint not null,
        price_micro_usd bigint not null check (price_micro_usd >= 0),
        calls bigint not null,
        returned bigint not null default 0 check (returned >= 0 and returned <= calls),
        micro_usd bigint not null check (micro_usd >= 0),
        posted_micro_usd bigint not null default 0,
        closings bigint not null default 0,
        primary key (account, day, price_micro_usd),
        check (price_micro_usd = 0 or micro_usd = (calls - returned) * price_micro_usd)
      );
      insert into spend_days_by_price
        (account, day, price_micro_usd, calls, micro_usd, posted_micro_usd, closings)
      select account, day,
        case when calls > 0 and micro_usd = calls * (micro_usd / calls) then micro_usd / calls
          else 0 end,
        calls, micro_usd, posted_micro_usd, closings
      from spend_days;
      drop table spend_days;
      alter table spend_days_by_price rename to spend_days;
      create index spend_days_open on spend_days (day, account)
        where micro_usd <> posted_micro_usd;
insert into migrations (id, name) values (102, 'spend by price');

-- 103 entries are sealed when they sum to zero
alter table postings
    alter constraint postings_entry_id_fkey deferrable initially deferred;
  drop trigger journal_entries_append_only on journal_entries;
  drop trigger postings_append_only on postings;
  drop function refuse_change();

  create or replace function refuse_row() returns trigger language plpgsql as $$
    begin
      raise exception '%: %', tg_table_name, tg_name using errcode = 'restrict_violation';
    end $$;
  create or replace function skip_row() returns trigger language plpgsql as $$
    begin
      return null;
    end $$;

        create trigger entries_never_change before update on journal_entries for each row
        execute function refuse_row();

        create trigger entries_stay before delete on journal_entries for each row
        execute function refuse_row();

        create trigger entries_stay_truncate before truncate on journal_entries for each statement
        execute function refuse_row();
create function entries_are_posted_once_row() returns trigger language plpgsql as $$
      begin
        if exists (select 1 from journal_entries where id = new.id) then return null; end if;
        return new;
      end $$;
        create trigger entries_are_posted_once before insert on journal_entries for each row
        execute function entries_are_posted_once_row();
create function entries_sum_to_zero_row() returns trigger language plpgsql as $$
      begin
        if (select coalesce(sum(micro_usd), 1) from postings where entry_id = new.id) <> 0
      or (select count(*) from postings where entry_id = new.id) < 2 then raise exception 'journal_entries: entries_sum_to_zero' using errcode = 'restrict_violation'; end if;
        return new;
      end $$;
        create trigger entries_sum_to_zero before insert on journal_entries for each row
        execute function entries_sum_to_zero_row();

        create trigger postings_never_change before update on postings for each row
        execute function refuse_row();

        create trigger postings_stay before delete on postings for each row
        execute function refuse_row();

        create trigger postings_stay_truncate before truncate on postings for each statement
        execute function refuse_row();
create function postings_come_with_their_entry_row() returns trigger language plpgsql as $$
      begin
        if exists (select 1 from journal_entries where id = new.entry_id) then return null; end if;
        return new;
      end $$;
        create trigger postings_come_with_their_entry before insert on postings for each row
        execute function postings_come_with_their_entry_row();

        create trigger balances_stay before delete on balances for each row
        execute function refuse_row();

        create trigger balances_stay_truncate before truncate on balances for each statement
        execute function refuse_row();

        create trigger balances_keep_their_account before update of account, prepaid on balances for each row when (new.account <> old.account or new.prepaid <> old.prepaid)
        execute function refuse_row();

        create trigger spend_days_stay before delete on spend_days for each row
        execute function refuse_row();

        create trigger spend_days_stay_truncate before truncate on spend_days for each statement
        execute function refuse_row();

        create trigger spend_days_only_grow before update on spend_days for each row when (new.account <> old.account or new.day <> old.day
      or new.price_micro_usd <> old.price_micro_usd or new.calls < old.calls
      or new.returned < old.returned or new.closings < old.closings
      or (new.posted_micro_usd <> old.posted_micro_usd and new.closings = old.closings))
        execute function refuse_row();
insert into migrations (id, name) values (103, 'entries are sealed when they sum to zero');

-- 104 no spend without a price
create or replace function refuse_row() returns trigger language plpgsql as $$
    begin
      raise exception '%: %', tg_table_name, tg_name using errcode = 'restrict_violation';
    end $$;
  create or replace function skip_row() returns trigger language plpgsql as $$
    begin
      return null;
    end $$;

        create trigger spend_days_have_a_price before insert on spend_days for each row when (new.price_micro_usd = 0)
        execute function refuse_row();

        create trigger spend_days_without_price_stay before update on spend_days for each row when (old.price_micro_usd = 0 and (new.calls <> old.calls or new.returned <> old.returned
      or new.micro_usd <> old.micro_usd))
        execute function refuse_row();
insert into migrations (id, name) values (104, 'no spend without a price');

-- 105 open days are listed once
drop index spend_days_open;
      create index spend_days_open on spend_days (day, account) where closings = 0;
      create index spend_days_reopened on spend_days (day, account)
        where closings > 0 and micro_usd <> posted_micro_usd;
insert into migrations (id, name) values (105, 'open days are listed once');

-- 106 paid calls accrue beside the balance
alter table balances add column accruing_day bigint not null default 0;
  alter table balances add column accruing_price_micro_usd bigint not null default 0;
  alter table balances add column accruing_calls bigint not null default 0
    check (accruing_calls = 0 or (accruing_calls > 0 and accruing_day > 0 and accruing_price_micro_usd > 0));
  alter table spend_days add column is_accruing smallint not null default 0
    check (is_accruing in (0, 1));
  create index spend_days_accruing on spend_days (day, account) where is_accruing = 1;
  create or replace function refuse_row() returns trigger language plpgsql as $$
    begin
      raise exception '%: %', tg_table_name, tg_name using errcode = 'restrict_violation';
    end $$;
  create or replace function skip_row() returns trigger language plpgsql as $$
    begin
      return null;
    end $$;
create function accrued_calls_come_to_their_day_row() returns trigger language plpgsql as $$
      begin
        insert into spend_days (account, day, price_micro_usd, calls, micro_usd, is_accruing)
        select old.account, old.accruing_day, old.accruing_price_micro_usd, old.accruing_calls,
          old.accruing_calls * old.accruing_price_micro_usd, 0
        where old.accruing_price_micro_usd > 0
        on conflict (account, day, price_micro_usd) do update set
          calls = spend_days.calls + excluded.calls,
          micro_usd = spend_days.micro_usd + excluded.micro_usd, is_accruing = 0;
insert into spend_days (account, day, price_micro_usd, calls, micro_usd, is_accruing)
        select new.account, new.accruing_day, new.accruing_price_micro_usd, 0, 0, 1
        where new.accruing_price_micro_usd > 0
        on conflict (account, day, price_micro_usd) do update set is_accruing = 1;
        return new;
      end $$;
        create trigger accrued_calls_come_to_their_day after update of accruing_day, accruing_price_micro_usd on balances for each row when (new.accruing_day <> old.accruing_day
  or new.accruing_price_micro_usd <> old.accruing_price_micro_usd)
        execute function accrued_calls_come_to_their_day_row();

        create trigger accruing_calls_only_grow after update of accruing_calls on balances for each row when (new.accruing_calls < old.accruing_calls and not (new.accruing_day <> old.accruing_day
  or new.accruing_price_micro_usd <> old.accruing_price_micro_usd))
        execute function refuse_row();
insert into migrations (id, name) values (106, 'paid calls accrue beside the balance');

-- 200 usage
create table usage_days (
        bucket text not null,
        day bigint not null,
        used bigint not null check (used >= 0),
        paid bigint not null check (paid >= 0),
        granted bigint not null,
        quota bigint not null,
        primary key (bucket, day)
      );
      create index usage_days_by_day on usage_days (day);
      create table meters (
        meter text primary key,
        batch bigint not null,
        day bigint not null
      );
      create table refunds (
        receipt text primary key,
        day bigint not null
      );
      create index refunds_by_day on refunds (day);
insert into migrations (id, name) values (200, 'usage');

-- 201 keys
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
        successor text references keys (public_id)
      );
      create index keys_by_wallet on keys (wallet, created_unix, public_id);
      create table used_messages (
        digest text primary key,
        wallet text not null,
        action text not null,
        used_unix bigint not null
      );
insert into migrations (id, name) values (201, 'keys');

-- 202 calls by key
create table key_days (
        public_id text not null,
        day bigint not null,
        used bigint not null check (used >= 0),
        primary key (public_id, day)
      );
      create index key_days_by_day on key_days (day);
      alter table keys add column is_first smallint not null default 0;
      update keys set is_first = 1 where not exists (
        select 1 from keys as older where older.wallet = keys.wallet
          and (older.created_unix < keys.created_unix
            or (older.created_unix = keys.created_unix and older.public_id < keys.public_id)));
      create unique index keys_first on keys (wallet) where is_first = 1;
      insert into key_days (public_id, day, used)
      select bucket, day, used from usage_days
      where used > 0 and 1 < (
        select count(*) from keys where 'wallet:' || keys.wallet = usage_days.bucket);
insert into migrations (id, name) values (202, 'calls by key');

-- 203 the most that a quota was on a day
alter table usage_days add column quota_most bigint check (used <= quota_most);
      update usage_days set quota_most = case when used > quota then used else quota end;
insert into migrations (id, name) values (203, 'the most that a quota was on a day');

-- 204 guards of keys and counters
create or replace function refuse_row() returns trigger language plpgsql as $$
    begin
      raise exception '%: %', tg_table_name, tg_name using errcode = 'restrict_violation';
    end $$;
  create or replace function skip_row() returns trigger language plpgsql as $$
    begin
      return null;
    end $$;

        create trigger keys_stay before delete on keys for each row
        execute function refuse_row();

        create trigger keys_stay_truncate before truncate on keys for each statement
        execute function refuse_row();

        create trigger keys_keep_who_they_are before update of public_id, secret_digest, wallet, created_unix, is_first on keys for each row when (new.public_id <> old.public_id or new.secret_digest <> old.secret_digest
      or new.wallet <> old.wallet or new.created_unix <> old.created_unix
      or new.is_first <> old.is_first)
        execute function refuse_row();

        create trigger keys_stay_revoked before update of revoked_unix on keys for each row when (old.revoked_unix is not null)
        execute function refuse_row();

        create trigger used_messages_never_change before update on used_messages for each row
        execute function refuse_row();

        create trigger used_messages_stay before delete on used_messages for each row
        execute function refuse_row();

        create trigger used_messages_stay_truncate before truncate on used_messages for each statement
        execute function refuse_row();

        create trigger usage_days_pay_after_the_quota before update of paid on usage_days for each row when (new.paid > old.paid and old.used < old.quota)
        execute function refuse_row();
insert into migrations (id, name) values (204, 'guards of keys and counters');

-- 205 what is to be told of a batch
alter table meters add column detail text;
insert into migrations (id, name) values (205, 'what is to be told of a batch');

-- 206 free calls that were given back
alter table usage_days add column returned bigint not null default 0;

  create or replace function refuse_row() returns trigger language plpgsql as $$
    begin
      raise exception '%: %', tg_table_name, tg_name using errcode = 'restrict_violation';
    end $$;
  create or replace function skip_row() returns trigger language plpgsql as $$
    begin
      return null;
    end $$;

        create trigger usage_days_go_down_by_refunds before update of used, returned on usage_days for each row when (new.used + new.returned < old.used + old.returned or new.returned < old.returned)
        execute function refuse_row();
insert into migrations (id, name) values (206, 'free calls that were given back');

-- 207 old counters in order, and the keys before a key
drop index usage_days_by_day;
      create index usage_days_by_day on usage_days (day, bucket);
      drop index key_days_by_day;
      create index key_days_by_day on key_days (day, public_id);
      drop index refunds_by_day;
      create index refunds_by_day on refunds (day, receipt);
      create index keys_by_successor on keys (successor) where successor is not null;
insert into migrations (id, name) values (207, 'old counters in order, and the keys before a key');

-- 210 old batches in order
create index meters_by_day on meters (day, meter);
insert into migrations (id, name) values (210, 'old batches in order');

-- 300 leases
create table leases (
    name text primary key,
    holder text not null,
    epoch bigint not null,
    expires_at_ms bigint not null
  );
insert into migrations (id, name) values (300, 'leases');

-- 301 prepayments
create table claims (
        id text primary key,
        public_id text not null,
        tx_hash text not null,
        owner text not null,
        payer_address text not null,
        by_owner smallint not null,
        trust smallint not null,
        share smallint not null,
        claimed_micro_usd bigint not null,
        status text not null,
        credited_micro_usd bigint,
        confirmations bigint not null,
        created_unix bigint not null,
        opened_unix bigint not null,
        verified_unix bigint,
        checked_ms bigint not null,
        was_credited smallint not null default 0,
        look_again smallint not null default 0,
        unique (public_id, tx_hash)
      );
      create index claims_by_tx on claims (tx_hash, created_unix, id);
      create index claims_watched on claims (checked_ms, id)
        where status in ('pending', 'confirming', 'reversed') or look_again = 1;
      create index claims_open_by_key on claims (public_id, share)
        where status in ('pending', 'confirming');
      create table claim_proofs (
        claim_id text not null references claims (id),
        payer_address text not null,
        message text not null,
        signature text not null,
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
        settled smallint not null default 0
      );
      create unique index credits_live on credits (chain_id, tx_hash, position_in_tx)
        where reversed_unix is null;
      create unique index credits_live_log on credits (chain_id, block_hash, log_index)
        where reversed_unix is null;
      create index credits_by_claim on credits (claim_id);
      create index credits_unsettled on credits (block_number)
        where reversed_unix is null and settled = 0;
insert into migrations (id, name) values (301, 'prepayments');

-- 302 claims without a place stay open
alter table claims add column evicted smallint not null default 0;
      drop index claims_open_by_key;
      create index claims_placed on claims (public_id, share, opened_unix, id)
        where status = 'pending' and evicted = 0;
      create index claims_open on claims (opened_unix, id)
        where status in ('pending', 'confirming');
insert into migrations (id, name) values (302, 'claims without a place stay open');

-- 303 money that a reorg took returns to where it was
alter table credits add column restored smallint not null default 0;
      create index credits_unrestored on credits (chain_id, tx_hash, position_in_tx)
        where reversed_unix is not null and restored = 0;
insert into migrations (id, name) values (303, 'money that a reorg took returns to where it was');

-- 304 claims that ended long ago are found to be forgotten
create index claims_ended on claims (opened_unix, id)
        where status in ('expired', 'unlinked', 'rejected') and was_credited = 0;
insert into migrations (id, name) values (304, 'claims that ended long ago are found to be forgotten');

-- 305 guards of claims and credits
create or replace function refuse_row() returns trigger language plpgsql as $$
    begin
      raise exception '%: %', tg_table_name, tg_name using errcode = 'restrict_violation';
    end $$;
  create or replace function skip_row() returns trigger language plpgsql as $$
    begin
      return null;
    end $$;

        create trigger claims_stay_with_money before delete on claims for each row when (old.was_credited = 1)
        execute function refuse_row();

        create trigger claims_stay_with_money_truncate before truncate on claims for each statement
        execute function refuse_row();

        create trigger claims_keep_who_they_are before update of id, public_id, tx_hash, owner, created_unix on claims for each row when (new.id <> old.id or new.public_id <> old.public_id or new.tx_hash <> old.tx_hash
      or new.owner <> old.owner or new.created_unix <> old.created_unix)
        execute function refuse_row();

        create trigger claims_go_back_by_a_reorg_only before update of status, was_credited on claims for each row when ((old.status = 'verified' and new.status not in ('verified', 'reversed'))
      or (new.status = 'reversed' and old.was_credited = 0) or new.was_credited < old.was_credited)
        execute function refuse_row();

        create trigger credits_stay before delete on credits for each row
        execute function refuse_row();

        create trigger credits_stay_truncate before truncate on credits for each statement
        execute function refuse_row();

        create trigger credits_never_change before update of id, account, owner, claim_id, chain_id, tx_hash, position_in_tx, block_number, block_hash, log_index, payer_address, micro_usd, created_unix on credits for each row
        execute function refuse_row();

        create trigger credits_are_reversed_once before update of reversed_unix on credits for each row when (old.reversed_unix is not null)
        execute function refuse_row();
insert into migrations (id, name) values (305, 'guards of claims and credits');

-- 400 x402 payments
create table x402_intents (
        id text primary key,
        chain_id bigint not null,
        asset text not null,
        payer text not null,
        nonce text not null,
        pay_to text not null,
        micro_usd bigint not null check (micro_usd > 0),
        valid_after text not null,
        valid_before text not null,
        signature text not null,
        payee_kind text not null check (payee_kind in ('key', 'bucket')),
        payee text not null,
        payee_wallet text,
        status text not null,
        created_unix bigint not null,
        from_block bigint not null,
        tx_hash text,
        raw text,
        settler text,
        tx_nonce bigint,
        reserved_gwei bigint not null default 0,
        gas_day bigint not null default 0,
        credit_id text unique references credits (id),
        unique (chain_id, asset, payer, nonce)
      );
      create index x402_intents_open on x402_intents (created_unix, id)
        where status in ('reserved', 'submitted');
      create index x402_intents_by_tx on x402_intents (tx_hash) where tx_hash is not null;
      create table x402_settlers (
        chain_id bigint not null,
        settler text not null,
        next_nonce bigint not null,
        used_unix bigint not null,
        gas_day bigint not null,
        gas_gwei bigint not null,
        primary key (chain_id, settler)
      );
insert into migrations (id, name) values (400, 'x402 payments');

-- 401 guards of x402 payments
create or replace function refuse_row() returns trigger language plpgsql as $$
    begin
      raise exception '%: %', tg_table_name, tg_name using errcode = 'restrict_violation';
    end $$;
  create or replace function skip_row() returns trigger language plpgsql as $$
    begin
      return null;
    end $$;

        create trigger x402_intents_stay before delete on x402_intents for each row when (old.status <> 'abandoned')
        execute function refuse_row();

        create trigger x402_intents_stay_truncate before truncate on x402_intents for each statement
        execute function refuse_row();

        create trigger x402_intents_keep_what_was_signed before update of id, chain_id, asset, payer, nonce, pay_to, micro_usd, payee_kind, payee, payee_wallet, created_unix on x402_intents for each row
        execute function refuse_row();

        create trigger x402_intents_send_nothing_once_abandoned before update of status on x402_intents for each row when (old.status in ('abandoned', 'failed') and new.status in ('reserved', 'submitted'))
        execute function refuse_row();
insert into migrations (id, name) values (401, 'guards of x402 payments');

-- 402 wallets that sign in
create table x402_sign_ins (
        wallet text not null,
        nonce text not null,
        bucket text not null,
        until_ms bigint not null,
        primary key (wallet, nonce)
      );
      create index x402_sign_ins_by_end on x402_sign_ins (until_ms);
      create table x402_collected (
        credit_id text primary key references credits (id),
        micro_usd bigint not null check (micro_usd >= 0),
        entry_id text
      );
      create index credits_by_owner on credits (owner, account) where reversed_unix is null;
      create index credits_by_account on credits (account, created_unix, id)
        where reversed_unix is null;
insert into migrations (id, name) values (402, 'wallets that sign in');

-- 403 guards of what wallets collected
create or replace function refuse_row() returns trigger language plpgsql as $$
    begin
      raise exception '%: %', tg_table_name, tg_name using errcode = 'restrict_violation';
    end $$;
  create or replace function skip_row() returns trigger language plpgsql as $$
    begin
      return null;
    end $$;

        create trigger x402_collected_stay before delete on x402_collected for each row
        execute function refuse_row();

        create trigger x402_collected_stay_truncate before truncate on x402_collected for each statement
        execute function refuse_row();

        create trigger x402_collected_never_change before update on x402_collected for each row
        execute function refuse_row();
insert into migrations (id, name) values (403, 'guards of what wallets collected');

-- 404 payments that moved nothing may go
drop trigger x402_intents_stay on x402_intents;
        drop trigger x402_intents_stay_truncate on x402_intents;

  create or replace function refuse_row() returns trigger language plpgsql as $$
    begin
      raise exception '%: %', tg_table_name, tg_name using errcode = 'restrict_violation';
    end $$;
  create or replace function skip_row() returns trigger language plpgsql as $$
    begin
      return null;
    end $$;

        create trigger x402_intents_stay before delete on x402_intents for each row when (old.status <> 'abandoned')
        execute function refuse_row();

        create trigger x402_intents_stay_truncate before truncate on x402_intents for each statement
        execute function refuse_row(); create index x402_intents_abandoned on x402_intents (created_unix, id)
  where status = 'abandoned';
insert into migrations (id, name) values (404, 'payments that moved nothing may go');

-- 405 transactions that were replaced
create table x402_replaced (
        tx_hash text primary key,
        intent_id text not null references x402_intents (id)
      );
insert into migrations (id, name) values (405, 'transactions that were replaced');

-- 406 guards of replaced transactions
create or replace function refuse_row() returns trigger language plpgsql as $$
    begin
      raise exception '%: %', tg_table_name, tg_name using errcode = 'restrict_violation';
    end $$;
  create or replace function skip_row() returns trigger language plpgsql as $$
    begin
      return null;
    end $$;

        create trigger x402_replaced_stay before delete on x402_replaced for each row
        execute function refuse_row();

        create trigger x402_replaced_stay_truncate before truncate on x402_replaced for each statement
        execute function refuse_row();

        create trigger x402_replaced_never_change before update on x402_replaced for each row
        execute function refuse_row();
insert into migrations (id, name) values (406, 'guards of replaced transactions');

-- 407 nonces until they are used up, and payments until nobody can send them
alter table x402_intents add column own_hash text;
      alter table x402_intents add column nonce_open bigint not null default 0;
      alter table x402_intents add column look_unix bigint;
      update x402_intents set own_hash = tx_hash where raw is not null;
      update x402_intents set nonce_open = 1
        where raw is not null and status in ('submitted', 'failed');
      update x402_intents set look_unix = 0 where status in ('abandoned', 'failed');
      create index x402_intents_by_nonce on x402_intents (chain_id, settler, tx_nonce)
        where settler is not null;
      create index x402_intents_nonce_open on x402_intents (chain_id, settler, tx_nonce)
        where nonce_open = 1;
      create index x402_intents_to_look_at on x402_intents (look_unix, id)
        where look_unix is not null;
      create index x402_replaced_by_intent on x402_replaced (intent_id);
      alter table x402_settlers drop column next_nonce;
      alter table x402_settlers drop column used_unix;
insert into migrations (id, name) values (407, 'nonces until they are used up, and payments until nobody can send them');
