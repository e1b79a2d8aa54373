import { type Address, type Hash, ZERO_ADDRESS } from '#base/address.ts'
import type { BlockRef, Log } from '#base/chain.ts'
import { chunks } from '#base/chunks.ts'
import type { CanonicalDeposits, Deposit } from '#base/deposit.ts'
import { TRANSFER_TOPIC } from '#base/token.ts'
import type { LogFilter } from '#chain/chain-source.ts'
import type { Connection, Tables } from '#db/engine.ts'
import { column, join, ROWS_PER_STATEMENT, type Row, rows, sql, toStored } from '#db/sql.ts'
import type { Payment } from '#ecosystem/ecosystem.ts'

export type Reads = Pick<Connection, 'run'>

/** Part of the accounts, because deposits must be found whatever becomes of the register. */
export const depositsTables: Tables = `
    create table deposits (
      chain_id bigint not null,
      tx_hash text not null,
      position_in_tx bigint not null,
      block_number bigint not null,
      block_hash text not null,
      log_index bigint not null,
      timestamp_unix bigint not null,
      sender text not null,
      recipient text not null,
      amount text not null,
      proven smallint not null,
      -- Of an unproven one: the last try.
      tried_unix bigint not null default 0,
      unproven_because text,
      primary key (chain_id, tx_hash, position_in_tx)
    );
    create index deposits_by_block on deposits (chain_id, block_number);
    create index deposits_unproven on deposits (tried_unix, block_number) where proven = 0;
    create table deposit_scans (
      chain_id bigint primary key,
      filter text not null,
      -- The last block that was read at the head.
      number bigint not null,
      hash text not null,
      timestamp_unix bigint not null,
      finalized_number bigint not null,
      -- Final blocks are read again up to this one: a node may have left out a log at the head.
      reread_number bigint not null
    )`

/** How far transfers to `payTo` have been read. */
export interface DepositScan extends BlockRef {
  readonly timestamp: number
  readonly finalizedNumber: number
  readonly rereadNumber: number
}

/** Matches transfers of the asset to any address of `payTo`. */
export function depositFilter(payment: Pick<Payment, 'asset' | 'payTo'>): LogFilter {
  return {
    addresses: [payment.asset],
    topics: [[TRANSFER_TOPIC], null, payment.payTo.map((each) => toTopic(each.address))],
    pairs: [{ address: payment.asset, topic0: TRANSFER_TOPIC }],
  }
}

export function toTopic(address: Address): Hash {
  return `0x${address.slice(2).padStart(64, '0')}`
}

const ADDRESS_TOPIC = ZERO_ADDRESS.slice(0, 26)

/** Converts matching logs to deposits in chain order, without empty and malformed transfers. */
export function toDeposits(logs: readonly Log[], proven: boolean): Deposit[] {
  const positions = new Map<Hash, number>()
  return logs.flatMap((log) => {
    const [, sender, recipient, ...more] = log.topics
    if (!sender?.startsWith(ADDRESS_TOPIC) || !recipient?.startsWith(ADDRESS_TOPIC)) return []
    // Skips empty transfers, which anyone can emit in another's name.
    if (more.length > 0 || log.data.length !== 66 || BigInt(log.data) === 0n) return []
    const positionInTx = positions.get(log.txHash) ?? 0
    positions.set(log.txHash, positionInTx + 1)
    return [
      {
        chainId: log.chainId,
        blockNumber: log.blockNumber,
        blockHash: log.blockHash,
        timestampUnix: log.timestamp,
        txHash: log.txHash,
        logIndex: log.logIndex,
        positionInTx,
        from: `0x${sender.slice(26)}`,
        to: `0x${recipient.slice(26)}`,
        amount: BigInt(log.data),
        proven,
      },
    ]
  })
}

/** Keeps a deposit already stored in the same block; after a reorg, the new block counts. */
export async function storeDeposits(
  connection: Connection,
  deposits: readonly Deposit[],
): Promise<void> {
  const list = deposits.map((each) => [
    each.chainId,
    each.txHash,
    each.positionInTx,
    each.blockNumber,
    each.blockHash,
    each.logIndex,
    each.timestampUnix,
    each.from,
    each.to,
    toStored(each.amount),
    each.proven ? 1 : 0,
  ])
  for (const part of chunks(list, ROWS_PER_STATEMENT))
    await connection.run(sql`
      insert into deposits (chain_id, tx_hash, position_in_tx, block_number, block_hash, log_index,
        timestamp_unix, sender, recipient, amount, proven)
      values ${rows(part)}
      on conflict (chain_id, tx_hash, position_in_tx) do update set
        block_number = excluded.block_number, block_hash = excluded.block_hash,
        log_index = excluded.log_index, timestamp_unix = excluded.timestamp_unix,
        sender = excluded.sender, recipient = excluded.recipient, amount = excluded.amount,
        proven = excluded.proven, tried_unix = 0, unproven_because = null
      where deposits.block_hash <> excluded.block_hash`)
}

/** Returns undefined before the first scan for this asset and `payTo`. */
export async function readScan(reads: Reads, payment: Payment): Promise<DepositScan | undefined> {
  const [row] = await reads.run(sql`
    select number, hash, timestamp_unix, finalized_number, reread_number from deposit_scans
    where chain_id = ${payment.chain.id} and filter = ${filterName(payment)}`)
  return (
    row && {
      number: column.integer(row, 'number'),
      hash: column.hex(row, 'hash'),
      timestamp: column.integer(row, 'timestamp_unix'),
      finalizedNumber: column.integer(row, 'finalized_number'),
      rereadNumber: column.integer(row, 'reread_number'),
    }
  )
}

export async function writeScan(
  connection: Connection,
  { payment, scan }: { readonly payment: Payment; readonly scan: DepositScan },
): Promise<void> {
  const { number, hash, timestamp, finalizedNumber, rereadNumber } = scan
  await connection.run(sql`
    insert into deposit_scans
      (chain_id, filter, number, hash, timestamp_unix, finalized_number, reread_number)
    values (${payment.chain.id}, ${filterName(payment)}, ${number}, ${hash}, ${timestamp},
      ${finalizedNumber}, ${rereadNumber})
    on conflict (chain_id) do update set
      filter = excluded.filter, number = excluded.number, hash = excluded.hash,
      timestamp_unix = excluded.timestamp_unix, finalized_number = excluded.finalized_number,
      reread_number = excluded.reread_number`)
}

/** A scan for another asset or other addresses starts over. */
function filterName({ asset, payTo, chain }: Payment): string {
  return [chain.startBlock, asset, ...payTo.map(({ address }) => address).sort()].join(' ')
}

/** Minimum blocks per step when final blocks are read again. */
export const REREAD_BLOCKS = 64

/** Whether history is read up to the newest final blocks. */
export function isComplete({ finalizedNumber, rereadNumber }: DepositScan): boolean {
  return finalizedNumber - rereadNumber < REREAD_BLOCKS
}

/** Reads the deposits of transactions. Call inside a snapshot only. Returns undefined without payments, or before the first scan. */
export async function readDeposits(
  reads: Reads,
  payment: Payment | null,
  txHashes: readonly Hash[],
): Promise<CanonicalDeposits | undefined> {
  const scan = payment === null ? undefined : await readScan(reads, payment)
  if (payment === null || scan === undefined) return undefined
  return {
    head: scan,
    completeFromBlock: payment.chain.startBlock,
    isComplete: isComplete(scan),
    deposits: await selectDeposits(reads, payment.chain.id, txHashes),
  }
}

async function selectDeposits(
  reads: Reads,
  chainId: number,
  txHashes: readonly Hash[],
): Promise<readonly Deposit[]> {
  const deposits: Deposit[] = []
  for (const part of chunks(txHashes, ROWS_PER_STATEMENT)) {
    const found = await reads.run(sql`
      select chain_id, block_number, block_hash, timestamp_unix, tx_hash, log_index,
        position_in_tx, sender, recipient, amount, proven
      from deposits where chain_id = ${chainId} and tx_hash in (${join(part)})
      order by block_number, tx_hash, position_in_tx`)
    deposits.push(...found.map(toDeposit))
  }
  return deposits
}

function toDeposit(row: Row): Deposit {
  return {
    chainId: column.integer(row, 'chain_id'),
    blockNumber: column.integer(row, 'block_number'),
    blockHash: column.hex(row, 'block_hash'),
    timestampUnix: column.integer(row, 'timestamp_unix'),
    txHash: column.hex(row, 'tx_hash'),
    logIndex: column.integer(row, 'log_index'),
    positionInTx: column.integer(row, 'position_in_tx'),
    from: column.hex(row, 'sender'),
    to: column.hex(row, 'recipient'),
    amount: column.bigint(row, 'amount'),
    proven: column.flag(row, 'proven'),
  }
}

/** Returns the number of deposits with a failed proof and the newest reason; undefined if none. */
export async function readUnproven(
  reads: Reads,
  chainId: number,
): Promise<{ readonly count: number; readonly reason: string } | undefined> {
  const found = await reads.run(sql`
    select unproven_because, count(*) as waiting, max(block_number) as newest
    from deposits where chain_id = ${chainId} and proven = 0 and unproven_because is not null
    group by unproven_because order by newest desc`)
  const [first] = found
  if (first === undefined) return undefined
  const count = found.reduce((sum, row) => sum + column.integer(row, 'waiting'), 0)
  return { count, reason: column.text(first, 'unproven_because') }
}

/** A deposit without a live credit, by log or by position, which an edit of `payTo` can shift. */
export const UNCREDITED = sql`not exists (
  select 1 from credits
  where credits.chain_id = deposits.chain_id and credits.tx_hash = deposits.tx_hash
    and credits.reversed_unix is null and (credits.position_in_tx = deposits.position_in_tx
      or (credits.block_hash = deposits.block_hash and credits.log_index = deposits.log_index)))`
