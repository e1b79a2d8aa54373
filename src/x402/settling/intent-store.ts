import type { Address, Hash } from '#domain/address.ts'
import type { Reads } from '#payments/reads.ts'
import type { Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import type { Intent, IntentStatus, Payee } from './intent.ts'

export const COLUMNS = sql`id, chain_id, asset, payer, nonce, pay_to, micro_usd, valid_after,
  valid_before, signature, payee_kind, payee, payee_wallet, status, created_unix, from_block, tx_hash,
  raw, own_hash, settler, tx_nonce, reserved_gwei, gas_day`

/** False if reserved before. */
export async function insertIntent(connection: Connection, intent: Intent): Promise<boolean> {
  const { authorization, payee } = intent
  const [name, wallet] =
    payee.kind === 'key' ? [payee.publicId, payee.wallet] : [payee.bucket, null]
  const inserted = await connection.run(sql`
    insert into x402_intents (id, chain_id, asset, payer, nonce, pay_to, micro_usd, valid_after,
      valid_before, signature, payee_kind, payee, payee_wallet, status, created_unix, from_block)
    values (${intent.id}, ${intent.chainId}, ${intent.asset}, ${authorization.from},
      ${authorization.nonce}, ${authorization.to}, ${authorization.value},
      ${String(authorization.validAfter)}, ${String(authorization.validBefore)},
      ${intent.signature}, ${payee.kind}, ${name}, ${wallet}, ${intent.status},
      ${intent.createdUnix}, ${intent.fromBlock})
    on conflict (chain_id, asset, payer, nonce) do nothing returning id`)
  return inserted.length === 1
}

export async function findIntent(
  reads: Reads,
  input: {
    readonly chainId: number
    readonly asset: Address
    readonly from: Address
    readonly nonce: Hash
  },
): Promise<Intent | undefined> {
  const [row] = await reads.run(sql`
    select ${COLUMNS} from x402_intents
    where chain_id = ${input.chainId} and asset = ${input.asset}
      and payer = ${input.from} and nonce = ${input.nonce}`)
  return row && toIntent(row)
}

export async function lockIntent(connection: Connection, id: string): Promise<Intent | undefined> {
  const [row] = await connection.run(sql`
    update x402_intents set status = status where id = ${id} returning ${COLUMNS}`)
  return row && toIntent(row)
}

export async function openIntents(reads: Reads, limit: number): Promise<Intent[]> {
  const found = await reads.run(sql`
    select ${COLUMNS} from x402_intents where status in ('reserved', 'submitted')
    order by created_unix, id limit ${limit}`)
  return found.map(toIntent)
}

export async function countOpenBefore(
  connection: Connection,
  { chainId, asset, authorization }: Pick<Intent, 'chainId' | 'asset' | 'authorization'>,
): Promise<{ readonly all: number; readonly ofPayer: number }> {
  const [row] = await connection.run(sql`
    select count(*) as open,
      count(case when payer = ${authorization.from} then 1 end) as of_payer
    from x402_intents
    where status in ('reserved', 'submitted') and chain_id = ${chainId} and asset = ${asset}`)
  if (row === undefined) return { all: 0, ofPayer: 0 }
  return { all: column.integer(row, 'open'), ofPayer: column.integer(row, 'of_payer') }
}

export async function countOpenIntents(reads: Reads): Promise<
  readonly {
    readonly status: IntentStatus
    readonly count: number
    readonly oldestUnix: number
  }[]
> {
  const found = await reads.run(sql`
    select status, count(*) as open, min(created_unix) as oldest from x402_intents
    where status in ('reserved', 'submitted') group by status order by status`)
  return found.map((row) => ({
    status: column.text(row, 'status') as IntentStatus,
    count: column.integer(row, 'open'),
    oldestUnix: column.integer(row, 'oldest'),
  }))
}

export async function lostIntents(reads: Reads, limit: number): Promise<Intent[]> {
  const found = await reads.run(sql`
    select ${COLUMNS} from x402_intents
    where status = 'credited' and credit_id in (
      select id from credits where reversed_unix is not null)
    order by created_unix, id limit ${limit}`)
  return found.map(toIntent)
}

/** Its money must then not be credited to a prepayment. */
export async function settlesIntent(reads: Reads, txHash: Hash): Promise<boolean> {
  const found = await reads.run(sql`
    select id from x402_intents
    where status in ('submitted', 'credited') and (tx_hash = ${txHash}
      or id in (select intent_id from x402_replaced where tx_hash = ${txHash})) limit 1`)
  return found.length === 1
}

/**
 * False if the status changed meanwhile. `lookUnix`: the next look at an ended intent, which others
 * may still send.
 */
export async function setIntentStatus(
  connection: Connection,
  input: {
    readonly id: string
    readonly from: IntentStatus
    readonly to: IntentStatus
    readonly lookUnix?: number | undefined
  },
): Promise<boolean> {
  const changed = await connection.run(sql`
    update x402_intents set status = ${input.to}, look_unix = ${input.lookUnix ?? null}
    where id = ${input.id} and status = ${input.from} returning id`)
  return changed.length === 1
}

export async function setCredited(
  connection: Connection,
  input: { readonly id: string; readonly txHash: Hash; readonly creditId: string },
): Promise<void> {
  await connection.run(sql`
    update x402_intents set status = 'credited', tx_hash = ${input.txHash},
      credit_id = ${input.creditId}, look_unix = null
    where id = ${input.id}`)
}

export async function intentsToLookAt(
  reads: Reads,
  input: { readonly nowUnix: number; readonly limit: number },
): Promise<Intent[]> {
  const found = await reads.run(sql`
    select ${COLUMNS} from x402_intents where look_unix <= ${input.nowUnix}
    order by look_unix, id limit ${input.limit}`)
  return found.map(toIntent)
}

export async function setNextLook(
  connection: Connection,
  input: { readonly id: string; readonly lookUnix: number | undefined },
): Promise<void> {
  await connection.run(sql`
    update x402_intents set look_unix = ${input.lookUnix ?? null}
    where id = ${input.id} and look_unix is not null`)
}

export function toIntent(row: Row): Intent {
  return {
    id: column.text(row, 'id'),
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
    status: column.text(row, 'status') as IntentStatus,
    createdUnix: column.integer(row, 'created_unix'),
    fromBlock: column.integer(row, 'from_block'),
    txHash: row.tx_hash === null ? null : column.hex(row, 'tx_hash'),
    raw: row.raw === null ? null : column.hex(row, 'raw'),
    ownHash: row.own_hash === null ? null : column.hex(row, 'own_hash'),
    settler: row.settler === null ? null : column.hex(row, 'settler'),
    txNonce: column.integerOrNull(row, 'tx_nonce'),
    reservedGwei: column.amount(row, 'reserved_gwei'),
    gasDay: column.integer(row, 'gas_day'),
  }
}

function toPayee(row: Row): Payee {
  const payee = column.text(row, 'payee')
  if (column.text(row, 'payee_kind') === 'bucket') return { kind: 'bucket', bucket: payee }
  return { kind: 'key', publicId: payee, wallet: column.hex(row, 'payee_wallet') }
}
