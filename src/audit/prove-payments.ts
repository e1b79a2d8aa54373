import type { ChainSource } from '#chain/chain-source.ts'
import { RpcError } from '#chain/rpc-error.ts'
import type { Address, Hash } from '#domain/address.ts'
import { TRANSFER_TOPIC } from '#domain/token.ts'
import type { Payment } from '#ecosystem/ecosystem.ts'
import type { ChainStatus, IndexStatus } from '#indexer/status.ts'
import { askContract } from '#indexer/token-contract.ts'
import { formatDecimal } from '#lib/decimal.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
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
  const before = await heldBefore(source, payment)
  if (before === undefined) {
    deps.note(
      `${payment.symbol}: no endpoint has the balance before block ${payment.chain.startBlock}, so deposits were not compared with it`,
    )
    return undefined
  }
  const received = await sumDeposits(stored, payment.chain.id)
  const sent = await sumSent(source, payment, chain)
  const held = await sumHeld(source, payment, chain.blockNumber)
  const show = (amount: bigint) => formatDecimal(amount, payment.decimals)
  if (before + received - sent !== held)
    return `${payment.symbol} on ${payment.chain.name}: payTo holds ${show(held)}, but ${show(before)} and deposits of ${show(received)} less ${show(sent)} sent are ${show(before + received - sent)}`
  deps.note(
    `${payment.symbol} on ${payment.chain.name}: deposits of ${show(received)} explain what payTo holds`,
  )
  return undefined
}

/** Undefined if no endpoint has such old state. */
async function heldBefore(source: ChainSource, payment: Payment): Promise<bigint | undefined> {
  const { startBlock } = payment.chain
  if (startBlock === 0) return 0n
  try {
    return await sumHeld(source, payment, startBlock - 1)
  } catch (error) {
    if (error instanceof RpcError) return undefined
    throw error
  }
}

async function sumHeld(
  source: ChainSource,
  { asset, payTo }: Payment,
  blockNumber: number,
): Promise<bigint> {
  let held = 0n
  for (const address of new Set(payTo.map((each) => each.address)))
    held += await askContract(source, asset, address, blockNumber)
  return held
}

async function sumDeposits(stored: StoreState, chainId: number): Promise<bigint> {
  let received = 0n
  const deposits = streamTable(stored, {
    table: 'deposits',
    key: { chain_id: 'bigint', block_number: 'bigint', place: 'bigint' },
    where: sql`chain_id = ${chainId}`,
  })
  for await (const row of deposits) received += column.bigint(row, 'amount')
  return received
}

async function sumSent(
  source: ChainSource,
  { asset, payTo, chain }: Payment,
  { blockNumber }: ChainStatus,
): Promise<bigint> {
  const senders = payTo.map((each) => toTopic(each.address))
  const filter = {
    addresses: [asset],
    topics: [[TRANSFER_TOPIC], senders],
    pairs: [{ address: asset, topic0: TRANSFER_TOPIC }],
  }
  let sent = 0n
  const range = { from: chain.startBlock, to: blockNumber }
  for await (const { columns } of source.history({ filter, ...range }))
    for (let index = 0; index < columns.count; index += 1) sent += BigInt(columns.log(index).data)
  return sent
}

function toTopic(address: Address): Hash {
  return `0x${address.slice(2).padStart(64, '0')}`
}
