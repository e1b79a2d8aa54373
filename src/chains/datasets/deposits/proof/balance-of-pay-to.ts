import type { ChainSource } from '#chains/chain/chain-source.ts'
import { RpcError } from '#chains/chain/rpc-error.ts'
import type { Payment } from '#chains/ecosystem/ecosystem.ts'
import { askContract } from '#chains/indexer/token-contract.ts'
import { TRANSFER_TOPIC } from '#domain/token.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import { type StoreState, streamTable } from '#store/stream-table.ts'
import { recipientsOf } from '../deposits.ts'

/** What all addresses of `payTo` hold together at the end of a block, in base units. */
export interface Held {
  readonly block: number
  readonly amount: bigint
}

/** Both ends are included. */
export interface BlockRange {
  readonly from: number
  readonly to: number
}

export async function heldAt(
  source: Pick<ChainSource, 'call'>,
  { asset, payTo }: Payment,
  block: number,
): Promise<Held> {
  let amount = 0n
  for (const address of new Set(payTo.map((each) => each.address)))
    amount += await askContract(source, asset, address, block)
  return { block, amount }
}

/** Undefined if no endpoint has such old state. */
export async function heldBeforeHistory(
  source: Pick<ChainSource, 'call'>,
  payment: Payment,
): Promise<Held | undefined> {
  const block = payment.chain.startBlock - 1
  if (block < 0) return { block, amount: 0n }
  try {
    return await heldAt(source, payment, block)
  } catch (error) {
    if (error instanceof RpcError) return undefined
    throw error
  }
}

/** Call inside a snapshot only. */
export async function sumReceived(
  stored: StoreState,
  chainId: number,
  { from, to }: BlockRange,
): Promise<bigint> {
  let received = 0n
  const deposits = streamTable(stored, {
    table: 'deposits',
    key: { chain_id: 'bigint', block_number: 'bigint', place: 'bigint' },
    where: sql`chain_id = ${chainId} and block_number between ${from} and ${to}`,
  })
  for await (const row of deposits) received += column.bigint(row, 'amount')
  return received
}

export async function sumSent(
  source: Pick<ChainSource, 'history'>,
  { asset, payTo }: Payment,
  range: BlockRange & { readonly signal?: AbortSignal },
): Promise<bigint> {
  const filter = {
    addresses: [asset],
    topics: [[TRANSFER_TOPIC], recipientsOf({ payTo })],
    pairs: [{ address: asset, topic0: TRANSFER_TOPIC }],
  }
  let sent = 0n
  for await (const { columns } of source.history({ filter, ...range }))
    for (let index = 0; index < columns.count; index += 1) sent += BigInt(columns.log(index).data)
  return sent
}
