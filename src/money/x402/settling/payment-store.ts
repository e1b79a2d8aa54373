import type { Address, Hash } from '#domain/address.ts'
import type { Reads } from '#money/payments/claim-store.ts'
import { type Retained, START } from '#operations/jobs/retained.ts'
import type { Connection } from '#store/engine.ts'
import { column, type Row, type Sql, sql } from '#store/sql.ts'
import { isFault, type PaymentFault } from '../faults.ts'
import type { Payee, PaymentStatus, X402Payment } from './x402-payment.ts'

export const COLUMNS = sql`id, scheme, chain_id, asset, payer, nonce, pay_to, micro_usd,
  valid_after, valid_before, signature, payee_kind, payee, payee_wallet, payee_own, status, created_unix,
  from_block, tx_hash, reason, served`

/** False if reserved before. */
export async function insertPayment(
  connection: Connection,
  payment: X402Payment,
): Promise<boolean> {
  const { authorization, payee } = payment
  const wallet = payee.kind === 'key' ? payee.wallet : null
  const inserted = await connection.run(sql`
    insert into x402_intents (id, scheme, chain_id, asset, payer, nonce, pay_to, micro_usd, valid_after,
      valid_before, signature, payee_kind, payee, payee_wallet, payee_own, status, created_unix,
      from_block)
    values (${payment.id}, ${payment.scheme}, ${payment.chainId}, ${payment.asset}, ${authorization.from},
      ${authorization.nonce}, ${authorization.to}, ${authorization.value},
      ${String(authorization.validAfter)}, ${String(authorization.validBefore)},
      ${payment.signature}, ${payee.kind}, ${balanceOf(payee)}, ${wallet},
      ${isOwn(payee) ? 1 : 0}, ${payment.status}, ${payment.createdUnix}, ${payment.fromBlock})
    on conflict (chain_id, asset, payer, nonce) do nothing returning id`)
  return inserted.length === 1
}

export async function findPayment(
  reads: Reads,
  input: {
    readonly chainId: number
    readonly asset: Address
    readonly from: Address
    readonly nonce: Hash
  },
): Promise<X402Payment | undefined> {
  const [row] = await reads.run(sql`
    select ${COLUMNS} from x402_intents
    where chain_id = ${input.chainId} and asset = ${input.asset}
      and payer = ${input.from} and nonce = ${input.nonce}`)
  return row && toPayment(row)
}

export async function lockPayment(
  connection: Connection,
  id: string,
): Promise<X402Payment | undefined> {
  const [row] = await connection.run(sql`
    update x402_intents set status = status where id = ${id} returning ${COLUMNS}`)
  return row && toPayment(row)
}

export async function paymentById(reads: Reads, id: string): Promise<X402Payment | undefined> {
  const [row] = await reads.run(sql`select ${COLUMNS} from x402_intents where id = ${id}`)
  return row && toPayment(row)
}

export async function openPayments(reads: Reads, limit: number): Promise<X402Payment[]> {
  const found = await reads.run(sql`
    select ${COLUMNS} from x402_intents where status in ('reserved', 'submitted')
    order by created_unix, id limit ${limit}`)
  return found.map(toPayment)
}

export type Reserved = Pick<X402Payment, 'chainId' | 'asset' | 'authorization' | 'payee'>

export async function countOpenBefore(
  reads: Reads,
  { chainId, asset, authorization, payee }: Reserved,
): Promise<{ readonly all: number; readonly ofCaller: number }> {
  const payer = authorization.from
  const ofCaller = isOwn(payee) ? ofPayee(payee, payer) : sql`payer = ${payer}`
  const [row] = await reads.run(sql`
    select count(*) as open,
      count(case when ${ofCaller} then 1 end) as of_caller
    from x402_intents
    where status in ('reserved', 'submitted') and chain_id = ${chainId} and asset = ${asset}`)
  if (row === undefined) return { all: 0, ofCaller: 0 }
  return { all: column.integer(row, 'open'), ofCaller: column.integer(row, 'of_caller') }
}

export async function countOpenPayments(reads: Reads): Promise<
  readonly {
    readonly status: PaymentStatus
    readonly count: number
    readonly oldestUnix: number
  }[]
> {
  const found = await reads.run(sql`
    select status, count(*) as open, min(created_unix) as oldest from x402_intents
    where status in ('reserved', 'submitted') group by status order by status`)
  return found.map((row) => ({
    status: column.text(row, 'status') as PaymentStatus,
    count: column.integer(row, 'open'),
    oldestUnix: column.integer(row, 'oldest'),
  }))
}

export async function lostPayments(reads: Reads, limit: number): Promise<X402Payment[]> {
  const found = await reads.run(sql`
    select ${COLUMNS} from x402_intents
    where status = 'credited' and credit_id in (
      select id from credits where reversed_unix is not null)
    order by created_unix, id limit ${limit}`)
  return found.map(toPayment)
}

/**
 * Its money must then not be credited to a prepayment. A facilitator's word does not count: it could
 * name the transfer of someone else.
 */
export async function settlesPayment(reads: Reads, txHash: Hash): Promise<boolean> {
  const found = await reads.run(sql`
    select id from x402_intents where status = 'credited' and tx_hash = ${txHash} limit 1`)
  return found.length === 1
}

/** Finds an open payment that a caller made for its balance, or by its wallet. */
export async function openPaymentOf(
  reads: Reads,
  payee: Payee,
  wallet: Address | undefined,
): Promise<X402Payment | undefined> {
  const [row] = await reads.run(sql`
    select ${COLUMNS} from x402_intents
    where status in ('reserved', 'submitted') and ${ofPayee(payee, wallet ?? null)}
    order by created_unix, id limit 1`)
  return row && toPayment(row)
}

function ofPayee(payee: Payee, payer: Address | null): Sql {
  return sql`((payee_kind = ${payee.kind} and payee = ${balanceOf(payee)} and payee_own = 1)
    or payer = ${payer})`
}

function balanceOf(payee: Payee): string {
  return payee.kind === 'key' ? payee.publicId : payee.bucket
}

function isOwn(payee: Payee): boolean {
  return payee.kind === 'bucket' || payee.isOwn
}

export async function hasRevertedSince(
  reads: Reads,
  input: { readonly payer: Address; readonly sinceUnix: number },
): Promise<boolean> {
  const found = await reads.run(sql`
    select id from x402_intents
    where payer = ${input.payer} and reverted_unix >= ${input.sinceUnix} limit 1`)
  return found.length === 1
}

/** Our transaction reverted: its payer has to wait. */
export async function setReverted(
  connection: Connection,
  input: { readonly id: string; readonly nowUnix: number },
): Promise<void> {
  await connection.run(sql`
    update x402_intents set reverted_unix = ${input.nowUnix} where id = ${input.id}`)
}

/** What a facilitator says has settled it. */
export async function setHint(
  connection: Connection,
  input: { readonly id: string; readonly txHash: Hash },
): Promise<void> {
  await connection.run(sql`
    update x402_intents set tx_hash = ${input.txHash}
    where id = ${input.id} and status = 'submitted'`)
}

/** True for the one request that is served by the payment's credit. */
export async function takeServed(connection: Connection, id: string): Promise<boolean> {
  const taken = await connection.run(sql`
    update x402_intents set served = 1
    where id = ${id} and status = 'credited' and served = 0 returning id`)
  return taken.length === 1
}

/**
 * False if the status changed meanwhile. `lookUnix`: the next look at an ended payment, which others
 * may still send.
 */
export async function setPaymentStatus(
  connection: Connection,
  input: {
    readonly id: string
    readonly from: PaymentStatus
    readonly to: PaymentStatus
    readonly lookUnix?: number | undefined
    readonly reason?: PaymentFault | undefined
  },
): Promise<boolean> {
  const changed = await connection.run(sql`
    update x402_intents set status = ${input.to}, look_unix = ${input.lookUnix ?? null},
      reason = ${input.reason ?? null}
    where id = ${input.id} and status = ${input.from} returning id`)
  return changed.length === 1
}

export async function setCredited(
  connection: Connection,
  input: {
    readonly id: string
    readonly txHash: Hash
    readonly creditId: string
    readonly isServed: boolean
  },
): Promise<void> {
  const served = input.isServed ? 1 : 0
  await connection.run(sql`
    update x402_intents set status = 'credited', tx_hash = ${input.txHash},
      credit_id = ${input.creditId}, look_unix = null, reason = null,
      served = case when served = 1 then 1 else ${served} end
    where id = ${input.id}`)
}

export async function paymentsToLookAt(
  reads: Reads,
  input: { readonly nowUnix: number; readonly limit: number },
): Promise<X402Payment[]> {
  const found = await reads.run(sql`
    select ${COLUMNS} from x402_intents where look_unix <= ${input.nowUnix}
    order by look_unix, id limit ${input.limit}`)
  return found.map(toPayment)
}

export async function setNextLook(
  connection: Connection,
  input: { readonly id: string; readonly lookUnix: number | undefined },
): Promise<void> {
  await connection.run(sql`
    update x402_intents set look_unix = ${input.lookUnix ?? null}
    where id = ${input.id} and look_unix is not null`)
}

export function toPayment(row: Row): X402Payment {
  return {
    id: column.text(row, 'id'),
    scheme: column.text(row, 'scheme'),
    chainId: column.integer(row, 'chain_id'),
    asset: column.hex(row, 'asset'),
    authorization: {
      from: column.hex(row, 'payer'),
      to: column.hex(row, 'pay_to'),
      value: column.amount(row, 'micro_usd'),
      validAfter: BigInt(column.text(row, 'valid_after')),
      validBefore: BigInt(column.text(row, 'valid_before')),
      nonce: column.hex(row, 'nonce'),
    },
    signature: column.hex(row, 'signature'),
    payee: toPayee(row),
    status: column.text(row, 'status') as PaymentStatus,
    createdUnix: column.integer(row, 'created_unix'),
    fromBlock: column.integer(row, 'from_block'),
    txHash: row.tx_hash === null ? null : column.hex(row, 'tx_hash'),
    reason: toReason(column.textOrNull(row, 'reason')),
    isServed: column.integer(row, 'served') === 1,
  }
}

function toReason(text: string | null): PaymentFault | null {
  return text !== null && isFault(text) ? text : null
}

function toPayee(row: Row): Payee {
  const payee = column.text(row, 'payee')
  if (column.text(row, 'payee_kind') === 'bucket') return { kind: 'bucket', bucket: payee }
  const wallet = column.hex(row, 'payee_wallet')
  return { kind: 'key', publicId: payee, wallet, isOwn: column.integer(row, 'payee_own') === 1 }
}

/** Drops payments that sent nothing a day after expiry, because anyone may sign some that fail. */
export const RETAINED_PAYMENTS: Retained = {
  // Shown again within a day, it is answered "already used".
  keepDays: 1,
  atOnce: { sqlite: 500, postgres: 500 },
  async deletePage(connection, { beforeUnix, limit }) {
    const until = String(beforeUnix)
    // Decimal strings: compare length, then text.
    const hasEnded = sql`(length(valid_before) < ${until.length}
      or (length(valid_before) = ${until.length} and valid_before <= ${until}))`
    const deleted = await connection.run(sql`
      delete from x402_intents where status = 'abandoned' and id in (
        select id from x402_intents
        where status = 'abandoned' and look_unix is null and ${hasEnded}
        order by created_unix, id limit ${limit}) returning id`)
    return { place: START, isDone: deleted.length < limit }
  },
}
