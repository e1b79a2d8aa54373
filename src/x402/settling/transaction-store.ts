import type { Address, Hash } from '#domain/address.ts'
import type { Reads } from '#payments/reads.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import type { Intent } from './intent.ts'
import { COLUMNS, toIntent } from './intent-store.ts'
import type { SettlerName } from './settler-store.ts'
import type { SignedTransaction } from './settling-signer.ts'

/** Before it is sent. False if no longer reserved. */
export async function setSubmitted(
  connection: Connection,
  input: Pick<Intent, 'id' | 'txHash' | 'raw' | 'settler' | 'txNonce' | 'reservedGwei' | 'gasDay'>,
): Promise<boolean> {
  const changed = await connection.run(sql`
    update x402_intents set status = 'submitted', tx_hash = ${input.txHash}, raw = ${input.raw},
      own_hash = ${input.txHash}, nonce_open = 1, settler = ${input.settler},
      tx_nonce = ${input.txNonce}, reserved_gwei = ${input.reservedGwei}, gas_day = ${input.gasDay}
    where id = ${input.id} and status = 'reserved' returning id`)
  return changed.length === 1
}

export async function findByTxNonce(
  reads: Reads,
  input: SettlerName & { readonly txNonce: number },
): Promise<Intent | undefined> {
  const [row] = await reads.run(sql`
    select ${COLUMNS} from x402_intents
    where chain_id = ${input.chainId} and settler = ${input.settler}
      and tx_nonce = ${input.txNonce}
    order by created_unix desc, id desc limit 1`)
  return row && toIntent(row)
}

export async function lowestFreeNonce(
  connection: Connection,
  input: SettlerName & { readonly from: number },
): Promise<number> {
  const { chainId, settler, from } = input
  if ((await findByTxNonce(connection, { chainId, settler, txNonce: from })) === undefined)
    return from
  const [row] = await connection.run(sql`
    select min(given.tx_nonce) + 1 as free from x402_intents as given
    where given.chain_id = ${chainId} and given.settler = ${settler} and given.tx_nonce >= ${from}
      and not exists (
        select 1 from x402_intents as later
        where later.chain_id = given.chain_id and later.settler = given.settler
          and later.tx_nonce = given.tx_nonce + 1)`)
  return row === undefined ? from : column.integer(row, 'free')
}

/** Keeps the old hash, which may still be sealed. */
export async function replaceTransaction(
  connection: Connection,
  input: {
    readonly intent: Intent
    readonly signed: SignedTransaction
    readonly reservedGwei: bigint
    readonly gasDay: number
  },
): Promise<Intent | undefined> {
  const { intent, signed, reservedGwei, gasDay } = input
  const [row] = await connection.run(sql`
    update x402_intents set raw = ${signed.raw}, own_hash = ${signed.txHash}, nonce_open = 1,
      tx_hash = case when status = 'credited' then tx_hash else ${signed.txHash} end,
      reserved_gwei = ${reservedGwei}, gas_day = ${gasDay}
    where id = ${intent.id} and own_hash = ${intent.ownHash}
    returning ${COLUMNS}`)
  if (row === undefined) throw new Error(`the payment ${intent.id} changed under a lock`)
  await connection.run(sql`
    insert into x402_replaced (tx_hash, intent_id) values (${intent.ownHash}, ${intent.id})`)
  return toIntent(row)
}

export async function knownHashes(reads: Reads, intent: Intent): Promise<readonly Hash[]> {
  const found = await reads.run(sql`
    select tx_hash from x402_replaced where intent_id = ${intent.id} order by tx_hash`)
  const own = [intent.txHash, intent.ownHash].filter((hash) => hash !== null)
  return [...new Set([...own, ...found.map((row) => column.hex(row, 'tx_hash'))])]
}

export async function settlersUnderWay(reads: Reads, chainId: number): Promise<readonly Address[]> {
  const found = await reads.run(sql`
    select distinct settler from x402_intents
    where nonce_open = 1 and chain_id = ${chainId} order by settler`)
  return found.map((row) => column.hex(row, 'settler'))
}

export async function intentsFromNonce(
  reads: Reads,
  input: SettlerName & { readonly from: number; readonly limit: number },
): Promise<Intent[]> {
  const found = await reads.run(sql`
    select ${COLUMNS} from x402_intents
    where chain_id = ${input.chainId} and settler = ${input.settler}
      and tx_nonce >= ${input.from} and raw is not null
    order by tx_nonce, created_unix, id limit ${input.limit}`)
  return found.map(toIntent)
}

export async function intentsBelowNonce(
  reads: Reads,
  input: SettlerName & { readonly below: number; readonly limit: number },
): Promise<Intent[]> {
  const found = await reads.run(sql`
    select ${COLUMNS} from x402_intents
    where nonce_open = 1 and chain_id = ${input.chainId} and settler = ${input.settler}
      and tx_nonce < ${input.below}
    order by tx_nonce, created_unix, id limit ${input.limit}`)
  return found.map(toIntent)
}

/** False if already closed or re-signed. */
export async function closeNonce(
  connection: Connection,
  input: { readonly intent: Intent; readonly paidGwei: bigint },
): Promise<boolean> {
  const { intent, paidGwei } = input
  const changed = await connection.run(sql`
    update x402_intents set nonce_open = 0, reserved_gwei = ${paidGwei}
    where id = ${intent.id} and nonce_open = 1 and own_hash = ${intent.ownHash}
      and reserved_gwei = ${intent.reservedGwei}
    returning id`)
  return changed.length === 1
}
