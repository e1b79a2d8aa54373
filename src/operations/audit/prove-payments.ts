import type { ChainSource } from '#chains/chain/chain-source.ts'
import { RpcError } from '#chains/chain/rpc-error.ts'
import { recipientsOf } from '#chains/datasets/deposits/deposits.ts'
import type { Payment } from '#chains/ecosystem/ecosystem.ts'
import type { IndexStatus } from '#chains/indexer/status.ts'
import { askContract } from '#chains/indexer/token-contract.ts'
import { formatDecimal } from '#domain/money.ts'
import { TRANSFER_TOPIC } from '#domain/token.ts'
import { column, sql } from '#store/sql.ts'
import { type StoreState, streamTable } from '#store/stream-table.ts'
import type { AuditDeps } from './audit-deps.ts'

/**
 * Balance before the first block + deposits − sent = balance now. Returns the difference in words.
 */
export async function provePayments(
  deps: Pick<AuditDeps, 'ecosystem' | 'sourceOf' | 'note'>,
  stored: StoreState,
  status: IndexStatus,
): Promise<string | undefined> {
  const { payment } = deps.ecosystem
  if (payment === null) return undefined
  const chain = status.chains.find((each) => each.chain.id === payment.chain.id)
  if (chain === undefined) return undefined
  const source = deps.sourceOf(payment.chain)
  const before = await heldBeforeHistory(source, payment)
  if (before === undefined) {
    deps.note(
      `${payment.symbol}: no endpoint has the balance before block ${payment.chain.startBlock}, so deposits were not compared with it`,
    )
    return undefined
  }
  const range = { from: before.block + 1, to: chain.blockNumber }
  const received = await sumReceived(stored, payment.chain.id, range)
  const sent = await sumSent(source, payment, range)
  const held = await heldAt(source, payment, range.to)
  const show = (amount: bigint) => formatDecimal(amount, payment.decimals)
  const explained = before.amount + received - sent
  if (explained !== held.amount)
    return `${payment.symbol} on ${payment.chain.name}: payTo holds ${show(held.amount)}, but ${show(before.amount)} and deposits of ${show(received)} less ${show(sent)} sent are ${show(explained)}`
  deps.note(
    `${payment.symbol} on ${payment.chain.name}: deposits of ${show(received)} explain what payTo holds`,
  )
  return undefined
}

/** What all addresses of `payTo` hold together at the end of a block, in base units. */
interface Held {
  readonly block: number
  readonly amount: bigint
}

/** Both ends are included. */
interface BlockRange {
  readonly from: number
  readonly to: number
}

async function heldAt(
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
async function heldBeforeHistory(
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
async function sumReceived(
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

async function sumSent(
  source: Pick<ChainSource, 'history'>,
  { asset, payTo }: Payment,
  range: BlockRange,
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
