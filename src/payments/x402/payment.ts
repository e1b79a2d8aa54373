import type { Address, Hash } from '#base/address.ts'
import type { Connection, Tables } from '#db/engine.ts'
import { type Guard, guardsSql } from '#db/guard.ts'
import { column, type Row, type Sql, sql } from '#db/sql.ts'
import type { Reads } from '#payments/prepayments/deposits.ts'
import type { Authorization } from './payload.ts'

/** `open`: only the chain knows the outcome. `credited`: a deposit is on a balance. `failed`: none is, and none can come. */
type PaymentStatus = 'open' | 'credited' | 'failed'

/** The account that a payment credits. */
export interface Payee {
  readonly kind: 'key' | 'bucket'
  /** A `publicId`, or an address's bucket. */
  readonly name: string
  /** Owner of the key; null for a bucket. */
  readonly wallet: Address | null
  /** False if someone else pays for the key, which anyone may. */
  readonly isOwn: boolean
}

/** A payment is stored once per authorization, for ever. */
export type X402Payment = Readonly<ReturnType<typeof toPayment>>

/** How far before the payment its transfer is searched: an offer's five minutes are 150 blocks on Base. */
export const EARLIER_BLOCKS = 400

/** Age at which the job looks at an open payment; requests wait ten seconds. */
const OPEN_SECONDS = 15

const COLUMNS = sql`id, chain_id, asset, payer, nonce, pay_to, micro_usd, valid_after, valid_before,
  signature, payee_kind, payee, payee_wallet, payee_own, status, created_unix,
  from_block, tx_hash, served`

/**
 * `busy`: the wallet has another open payment (its funds could back many that fail at our cost), or the caller's
 * balance has one. Stores nothing then.
 */
export async function reservePayment(
  connection: Connection,
  payment: X402Payment,
): Promise<'reserved' | 'used' | 'busy'> {
  // Serialises reservations across replicas.
  await lockReservations(connection)
  if ((await findPayment(connection, payment)) !== undefined) return 'used'
  const { chainId, asset, payee } = payment
  const payer = payment.authorization.from
  const ofCaller = payee.isOwn ? madeBy(payee, payer) : sql`payer = ${payer}`
  const [open] = await connection.run(sql`
    select id from x402_intents
    where status = 'open' and chain_id = ${chainId} and asset = ${asset} and ${ofCaller} limit 1`)
  if (open !== undefined) return 'busy'
  await insertPayment(connection, payment)
  return 'reserved'
}

/** Only the holder of this lock reserves payments. */
export async function lockReservations(connection: Connection): Promise<void> {
  await connection.run(sql`
    insert into x402_facilitator (id) values (1) on conflict (id) do update set id = 1`)
}

export async function insertPayment(connection: Connection, payment: X402Payment): Promise<void> {
  const { authorization, payee } = payment
  await connection.run(sql`
    insert into x402_intents (id, chain_id, asset, payer, nonce, pay_to, micro_usd, valid_after,
      valid_before, signature, payee_kind, payee, payee_wallet, payee_own, status, created_unix,
      from_block)
    values (${payment.id}, ${payment.chainId}, ${payment.asset}, ${authorization.from},
      ${authorization.nonce}, ${authorization.to}, ${authorization.value},
      ${authorization.validAfter}, ${authorization.validBefore},
      ${payment.signature}, ${payee.kind}, ${payee.name}, ${payee.wallet},
      ${Number(payee.isOwn)}, ${payment.status}, ${payment.createdUnix}, ${payment.fromBlock})`)
}

export async function findPayment(
  reads: Reads,
  { chainId, asset, authorization }: Pick<X402Payment, 'chainId' | 'asset' | 'authorization'>,
): Promise<X402Payment | undefined> {
  const [row] = await reads.run(sql`
    select ${COLUMNS} from x402_intents
    where chain_id = ${chainId} and asset = ${asset}
      and payer = ${authorization.from} and nonce = ${authorization.nonce}`)
  return row && toPayment(row)
}

export async function lockPayment(tx: Connection, id: string): Promise<X402Payment | undefined> {
  const [row] = await tx.run(sql`
    update x402_intents set status = status where id = ${id} returning ${COLUMNS}`)
  return row && toPayment(row)
}

/** Finds an open payment that a caller made for its balance, or by its wallet. */
export async function findOpenPayment(
  reads: Reads,
  payee: Payee,
): Promise<X402Payment | undefined> {
  const [row] = await reads.run(sql`
    select ${COLUMNS} from x402_intents
    where status = 'open' and ${madeBy(payee, payee.wallet)}
    order by created_unix, id limit 1`)
  return row && toPayment(row)
}

function madeBy(payee: Payee, payer: Address | null): Sql {
  return sql`((payee_kind = ${payee.kind} and payee = ${payee.name} and payee_own = 1)
    or payer = ${payer})`
}

/** Returns the creation time of the oldest open payment, in Unix seconds. */
export async function oldestOpen(reads: Reads): Promise<number | undefined> {
  const [row] = await reads.run(
    sql`select min(created_unix) as oldest from x402_intents where status = 'open'`,
  )
  return (row && column.integerOrNull(row, 'oldest')) ?? undefined
}

const LEFT_OPEN_MAX = 100

/** Returns open payments whose requests have ended, the oldest first. */
export async function leftOpen(reads: Reads, nowUnix: number): Promise<X402Payment[]> {
  const found = await reads.run(sql`
    select ${COLUMNS} from x402_intents
    where status = 'open' and created_unix <= ${nowUnix - OPEN_SECONDS}
    order by created_unix, id limit ${LEFT_OPEN_MAX}`)
  return found.map(toPayment)
}

/** Reopens a payment whose credit a reorg reversed. */
export async function reopenPayment(connection: Connection, creditId: string): Promise<void> {
  await connection.run(sql`
    update x402_intents set status = 'open'
    where status = 'credited' and credit_id = ${creditId}`)
}

export async function failPayment(connection: Connection, id: string): Promise<void> {
  await connection.run(sql`
    update x402_intents set status = 'failed' where id = ${id} and status = 'open'`)
}

/** Stores the transaction that a facilitator claims has settled it. */
export async function setHint(connection: Connection, id: string, txHash: Hash): Promise<void> {
  await connection.run(sql`
    update x402_intents set tx_hash = ${txHash} where id = ${id} and status = 'open'`)
}

/** Marks the payment as served; true for the one request that may use its credit. */
export async function takeServed(connection: Connection, id: string): Promise<boolean> {
  const taken = await connection.run(sql`
    update x402_intents set served = 1
    where id = ${id} and status = 'credited' and served = 0 returning id`)
  return taken.length === 1
}

/** Ends a payment with the credit of its transfer, or without if a prepayment has it. */
export async function endPayment(
  connection: Connection,
  id: string,
  txHash: Hash,
  { creditId, isServed }: { readonly creditId: string | null; readonly isServed: boolean },
): Promise<void> {
  const isCredited = creditId !== null
  await connection.run(sql`
    update x402_intents set status = ${isCredited ? 'credited' : 'failed'},
      tx_hash = ${txHash}, credit_id = coalesce(${creditId}, credit_id),
      served = case when served = 1 then 1 else ${isCredited && isServed ? 1 : 0} end
    where id = ${id}`)
}

function toPayment(row: Row) {
  const payee: Payee = {
    kind: column.text(row, 'payee_kind') as Payee['kind'],
    name: column.text(row, 'payee'),
    wallet: row.payee_wallet === null ? null : column.hex(row, 'payee_wallet'),
    isOwn: column.flag(row, 'payee_own'),
  }
  const authorization: Authorization = {
    from: column.hex(row, 'payer'),
    to: column.hex(row, 'pay_to'),
    value: column.amount(row, 'micro_usd'),
    validAfter: column.amount(row, 'valid_after'),
    validBefore: column.amount(row, 'valid_before'),
    nonce: column.hex(row, 'nonce'),
  }
  return {
    id: column.text(row, 'id'),
    chainId: column.integer(row, 'chain_id'),
    asset: column.hex(row, 'asset'),
    authorization,
    signature: column.hex(row, 'signature'),
    payee,
    status: column.text(row, 'status') as PaymentStatus,
    createdUnix: column.integer(row, 'created_unix'),
    /** Head when it arrived. Anyone with the signature may have sent it up to `EARLIER_BLOCKS` before. */
    fromBlock: column.integer(row, 'from_block'),
    /** Only a facilitator's claim until the status is `credited`. */
    txHash: row.tx_hash === null ? null : column.hex(row, 'tx_hash'),
    /** Whether the call or top-up that it paid for was answered. */
    isServed: column.flag(row, 'served'),
  }
}

export const x402Guards: readonly Guard[] = [
  { table: 'x402_intents', name: 'x402_intents_stay', on: 'delete' },
  {
    table: 'x402_intents',
    name: 'x402_intents_keep_what_was_signed',
    on: 'update',
    columns: `id, chain_id, asset, payer, nonce, pay_to, micro_usd, payee_kind, payee, payee_wallet,
      created_unix`,
  },
  {
    table: 'x402_intents',
    name: 'x402_intents_send_nothing_once_failed',
    on: 'update',
    columns: 'status',
    when: "old.status = 'failed' and new.status = 'open'",
  },
]

export const x402Tables: readonly Tables[] = [
  `
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
    )`,
  guardsSql(x402Guards),
]
