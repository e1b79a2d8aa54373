import { type Address, type Hash, ZERO_ADDRESS } from '#domain/address.ts'
import type { Log } from '#domain/chain.ts'
import { TRANSFER_TOPIC } from '#domain/token.ts'
import type { Payment } from '#ecosystem/ecosystem.ts'
import type { Change, Dataset, Position } from '#indexer/dataset.ts'
import { DecodeError } from '#indexer/decode-event.ts'
import type { Selector } from '#indexer/select-logs.ts'
import { chunks } from '#lib/chunks.ts'
import { toStored } from '#lib/u256.ts'
import type { Migration } from '#store/engine.ts'
import { ROWS_PER_STATEMENT, rows, sql } from '#store/sql.ts'

/** Name of the dataset. */
export const DEPOSITS = 'deposits'

export const depositsMigration: Migration = {
  id: 50,
  name: 'deposits',
  sql: `
    create table deposits (
      chain_id bigint not null,
      block_number bigint not null,
      log_index bigint not null,
      block_hash text not null,
      timestamp_unix bigint not null,
      tx_hash text not null,
      position_in_tx bigint not null,
      sender text not null,
      recipient text not null,
      amount text not null,
      primary key (chain_id, block_number, log_index)
    );
    create unique index deposits_of_tx on deposits (chain_id, tx_hash, position_in_tx)`,
}

/** A transfer of the payment asset to the operator, as the chain shows it now. */
export interface DepositFact {
  readonly log: Log
  readonly sender: Address
  readonly recipient: Address
  readonly amount: bigint
}

/** Payments to the operator, where there are any: the very logs that credits refer to. */
export function depositsDataset(payment: Payment | null): Dataset<DepositFact> {
  return {
    name: DEPOSITS,
    selectors: payment === null ? [] : [selectorOf(payment)],
    builtFrom(chainId) {
      if (chainId !== payment?.chain.id) return []
      const payTo = payment.payTo.map(({ address }) => address).sort()
      return [{ field: 'payment', facts: { asset: payment.asset, payTo } }]
    },
    decode: readDeposit,
    apply: storeDeposits,
    revert: removeDeposits,
  }
}

function selectorOf({ chain, asset, payTo }: Payment): Selector {
  const recipients = payTo.map((each) => toTopic(each.address))
  return {
    chainId: chain.id,
    address: asset,
    topic0: TRANSFER_TOPIC,
    arguments: [null, recipients],
  }
}

function readDeposit(log: Log): readonly DepositFact[] {
  const [, sender, recipient, ...more] = log.topics
  if (sender === undefined || recipient === undefined || more.length > 0 || log.data.length !== 66)
    throw new DecodeError('a transfer has three topics and 32 bytes of data')
  const amount = BigInt(log.data)
  // Anyone can emit a transfer of nothing in another's name; it pays for nothing.
  if (amount === 0n) return []
  return [{ log, sender: toAddress(sender), recipient: toAddress(recipient), amount }]
}

async function storeDeposits(change: Change, facts: readonly DepositFact[]): Promise<void> {
  const positions = new Map<Hash, number>()
  const list = facts.map(({ log, sender, recipient, amount }) => {
    const position = positions.get(log.txHash) ?? 0
    positions.set(log.txHash, position + 1)
    return [
      log.chainId,
      log.blockNumber,
      log.logIndex,
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
    await change.connection.run(sql`
      insert into deposits (chain_id, block_number, log_index, block_hash, timestamp_unix, tx_hash,
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
