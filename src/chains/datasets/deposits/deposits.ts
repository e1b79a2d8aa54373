import type { LogFilter } from '#chains/chain/log-filter.ts'
import type { Payment } from '#chains/ecosystem/ecosystem.ts'
import { DecodeError } from '#chains/ecosystem/event-arguments.ts'
import type { Change, Dataset, Position } from '#chains/indexer/dataset.ts'
import type { Selector } from '#chains/indexer/select-logs.ts'
import { type Address, type Hash, ZERO_ADDRESS } from '#domain/address.ts'
import { type Log, placeOf } from '#domain/chain.ts'
import { TRANSFER_TOPIC } from '#domain/token.ts'
import { chunks } from '#lib/chunks.ts'
import type { Connection, Tables } from '#store/engine.ts'
import { ROWS_PER_STATEMENT, rows, sql, toStored } from '#store/sql.ts'

const DEPOSITS = 'deposits'

export const depositsTables: Tables = `
    create table deposits (
      chain_id bigint not null,
      block_number bigint not null,
      place bigint not null,
      block_hash text not null,
      timestamp_unix bigint not null,
      tx_hash text not null,
      position_in_tx bigint not null,
      sender text not null,
      recipient text not null,
      amount text not null,
      proven bigint not null default 0,
      unproven_because text,
      primary key (chain_id, block_number, place)
    );
    create unique index deposits_of_tx on deposits (chain_id, tx_hash, position_in_tx);
    create index unproven_deposits on deposits (chain_id, block_number) where proven = 0`

export interface DepositFact {
  readonly log: Log
  readonly sender: Address
  readonly recipient: Address
  readonly amount: bigint
}

/** Payments to the operator, if configured. */
export function depositsDataset(payment: Payment | null): Dataset<DepositFact> {
  return {
    name: DEPOSITS,
    selectors: payment === null ? [] : [selectorOf(payment)],
    decode: readDeposit,
    apply: (change, facts) => storeDeposits(change.connection, facts),
    revert: removeDeposits,
  }
}

function selectorOf(payment: Payment): Selector {
  return {
    chainId: payment.chain.id,
    address: payment.asset,
    topic0: TRANSFER_TOPIC,
    arguments: [null, recipientsOf(payment)],
  }
}

export function depositFilter(payment: Payment): LogFilter {
  return {
    addresses: [payment.asset],
    topics: [[TRANSFER_TOPIC], null, recipientsOf(payment)],
    pairs: [{ address: payment.asset, topic0: TRANSFER_TOPIC }],
  }
}

export function recipientsOf({ payTo }: Pick<Payment, 'payTo'>): readonly Hash[] {
  return payTo.map((each) => toTopic(each.address))
}

export function readDeposit(log: Log): readonly DepositFact[] {
  const [, sender, recipient, ...more] = log.topics
  if (sender === undefined || recipient === undefined || more.length > 0 || log.data.length !== 66)
    throw new DecodeError('a transfer has three topics and 32 bytes of data')
  const amount = BigInt(log.data)
  // Anyone can emit an empty transfer in another's name.
  if (amount === 0n) return []
  return [{ log, sender: toAddress(sender), recipient: toAddress(recipient), amount }]
}

/** Stores in chain order: a deposit is named by its position in its transaction. */
export async function storeDeposits(
  connection: Connection,
  facts: readonly DepositFact[],
): Promise<void> {
  const positions = new Map<Hash, number>()
  const list = facts.map(({ log, sender, recipient, amount }) => {
    const position = positions.get(log.txHash) ?? 0
    positions.set(log.txHash, position + 1)
    return [
      log.chainId,
      log.blockNumber,
      placeOf(log),
      log.blockHash,
      log.timestamp,
      log.txHash,
      position,
      sender,
      recipient,
      toStored(amount),
    ]
  })
  for (const part of chunks(list, ROWS_PER_STATEMENT))
    await connection.run(sql`
      insert into deposits (chain_id, block_number, place, block_hash, timestamp_unix, tx_hash,
        position_in_tx, sender, recipient, amount)
      values ${rows(part)}`)
}

async function removeDeposits(change: Change, ancestor: Position): Promise<void> {
  await change.connection.run(sql`
    delete from deposits
    where chain_id = ${change.chainId} and block_number > ${ancestor.number}`)
}

function toTopic(address: Address): Hash {
  return `0x${address.slice(2).padStart(64, '0')}`
}

function toAddress(topic: Hash): Address {
  if (!topic.startsWith(ZERO_ADDRESS.slice(0, 26)))
    throw new DecodeError('an indexed address has 12 leading zero bytes')
  return `0x${topic.slice(26)}`
}
