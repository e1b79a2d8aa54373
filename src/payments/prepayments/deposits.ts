import { type Address, type Hash, ZERO_ADDRESS } from '#base/address.ts'
import { allEnded, chunks } from '#base/async.ts'
import type { BlockHeader, BlockRef, Log } from '#base/chain.ts'
import { unixNow } from '#base/time.ts'
import { TRANSFER_TOPIC } from '#base/token.ts'
import type { HistoryRequest, LogFilter } from '#chain/chain-source.ts'
import { matches, readTip } from '#chain/follow.ts'
import { RpcError } from '#chain/rpc-error.ts'
import { openRpcSource } from '#chain/rpc-source.ts'
import { type Context, oncePerContext } from '#context.ts'
import type { Connection, Tables } from '#db/engine.ts'
import {
  column,
  defineCodec,
  join,
  ROWS_PER_STATEMENT,
  type Row,
  type RowOf,
  rows,
  sql,
  toStored,
} from '#db/sql.ts'
import type { Payment } from '#ecosystem/ecosystem.ts'
import { requirePayment } from '#payments/x402/offer.ts'

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

const depositRow = defineCodec({
  chainId: column.integer,
  blockNumber: column.integer,
  blockHash: column.hex,
  timestampUnix: column.integer,
  txHash: column.hex,
  logIndex: column.integer,
  /** Index among the transaction's payment transfers; survives reorgs. */
  positionInTx: column.integer,
  sender: column.hex,
  recipient: column.hex,
  /** Micro-USD. */
  amount: column.bigint,
  /** Unproven deposits are never credited. */
  proven: column.flag,
})

/** A canonical `Transfer(to = payTo)` of the payment asset, never zero. */
export type Deposit = RowOf<typeof depositRow>

/** How far transfers to `payTo` have been read. */
export type DepositScan = NonNullable<Awaited<ReturnType<typeof readScan>>>

/** Matches transfers of the asset to any address of `payTo`, or from one. */
export function transferFilter({ asset, payTo }: Payment, end: 'from' | 'to'): LogFilter {
  const wallets = payTo.map(({ address }) => toTopic(address))
  return {
    addresses: [asset],
    topics: [[TRANSFER_TOPIC], ...(end === 'to' ? [null, wallets] : [wallets])],
    pairs: [{ address: asset, topic0: TRANSFER_TOPIC }],
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
        sender: `0x${sender.slice(26)}`,
        recipient: `0x${recipient.slice(26)}`,
        amount: BigInt(log.data),
        proven,
      },
    ]
  })
}

/** Keeps a deposit already stored in the same block; after a reorg, the new block counts. */
export async function storeDeposits(tx: Connection, deposits: readonly Deposit[]): Promise<void> {
  const list = deposits.map((each) => [
    each.chainId,
    each.txHash,
    each.positionInTx,
    each.blockNumber,
    each.blockHash,
    each.logIndex,
    each.timestampUnix,
    each.sender,
    each.recipient,
    toStored(each.amount),
    each.proven ? 1 : 0,
  ])
  for (const part of chunks(list, ROWS_PER_STATEMENT))
    await tx.run(sql`
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
export async function readScan(reads: Reads, payment: Payment) {
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

export async function writeScan(tx: Connection, payment: Payment, scan: DepositScan) {
  const { number, hash, timestamp, finalizedNumber, rereadNumber } = scan
  await tx.run(sql`
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
const REREAD_BLOCKS = 64

/** Whether history is read up to the newest final blocks. */
export function isComplete({ finalizedNumber, rereadNumber }: DepositScan): boolean {
  return finalizedNumber - rereadNumber < REREAD_BLOCKS
}

export type KnownDeposits = NonNullable<Awaited<ReturnType<typeof readDeposits>>>

/** Reads the deposits of transactions. Call inside a snapshot only. Returns undefined before the first scan. */
export async function readDeposits(reads: Reads, payment: Payment, txHashes: readonly Hash[]) {
  const head = await readScan(reads, payment)
  if (head === undefined) return undefined
  const deposits: Deposit[] = []
  for (const part of chunks(txHashes, ROWS_PER_STATEMENT)) {
    const found = await reads.run(sql`
      select ${depositRow.columns} from deposits
      where chain_id = ${payment.chain.id} and tx_hash in (${join(part)})
      order by block_number, tx_hash, position_in_tx`)
    deposits.push(...found.map(depositRow.read))
  }
  return { head, deposits }
}

/** Returns the number of deposits with a failed proof and the newest reason; undefined if none. */
export async function readUnproven(reads: Reads, chainId: number) {
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

/** Reads history in short steps, because payers wait for the head. */
const REREAD_MS_MAX = 5_000

export const getPaymentSource = oncePerContext((ctx) => {
  const { id: chainId, rpcUrls: urls } = requirePayment(ctx).chain
  return openRpcSource({ chainId, urls })
})

const LAG_BLOCKS_MAX = 64

/**
 * Reads new blocks at the head for transfers to `payTo`, proves those that have any, then reads some of what became
 * final. Independent of the index, so that deposits are found while a register is built.
 */
export async function scanDeposits(ctx: Context, signal: AbortSignal): Promise<void> {
  const payment = requirePayment(ctx)
  const { finality } = payment.chain
  const { head, finalized } = await readTip({ source: getPaymentSource(ctx), finality })
  const stored = await readScan({ run: ctx.accounts.read }, payment)
  const scan = stored ?? (await beginScan(ctx, finalized))
  if (scan === undefined) return
  const behind = scan.number - head.number
  // Ignores a node that is slightly behind; one far behind fails, as it may serve another chain.
  if (behind > 0 && behind < LAG_BLOCKS_MAX) return
  const same = await readHeader(ctx, scan.number)
  const final = Math.max(scan.finalizedNumber, finalized)
  if (same.hash !== scan.hash) return rewind(ctx, scan, finalized)
  // After a pause, the blocks that became final meanwhile are read in steps, like other final blocks.
  const isPaused = final - scan.number >= REREAD_BLOCKS
  const from = isPaused ? await readHeader(ctx, final) : scan
  if (head.number > from.number)
    await readHead(ctx, { ...scan, ...from, finalizedNumber: final }, head, signal)
  await proveDeposits(ctx, final, signal)
  await rereadFinal(ctx, final, signal)
}

async function readHeader(ctx: Context, number: number): Promise<BlockHeader> {
  const header = await getPaymentSource(ctx).header(number)
  if (header === undefined) throw new RpcError(`the node does not know block ${number}`)
  return header
}

/** Starts near the head, where new payments arrive; older blocks are read with the final ones. */
async function beginScan(ctx: Context, finalized: number): Promise<DepositScan | undefined> {
  const payment = requirePayment(ctx)
  const rereadNumber = payment.chain.startBlock - 1
  const isLong = finalized - rereadNumber >= REREAD_BLOCKS
  const header = await getPaymentSource(ctx).header(Math.max(0, isLong ? finalized : rereadNumber))
  if (header === undefined) return undefined
  const scan = { ...header, finalizedNumber: header.number, rereadNumber }
  await ctx.accounts.write(async (tx) => {
    await tx.run(sql`delete from deposits where chain_id = ${payment.chain.id}`)
    await writeScan(tx, payment, scan)
  })
  return scan
}

/** Reads everything that is not final again after a reorg. */
async function rewind(ctx: Context, scan: DepositScan, finalized: number): Promise<void> {
  const payment = requirePayment(ctx)
  const { finalizedNumber } = scan
  if (scan.number <= finalizedNumber) {
    // A node called a block final that was not, so start over.
    await beginScan(ctx, finalized)
    return
  }
  const header = await readHeader(ctx, finalizedNumber)
  await ctx.accounts.write(async (tx) => {
    await tx.run(sql`
      delete from deposits
      where chain_id = ${payment.chain.id} and block_number > ${finalizedNumber}`)
    await writeScan(tx, payment, { ...scan, ...header })
  })
}

async function readHead(ctx: Context, scan: DepositScan, head: BlockHeader, signal: AbortSignal) {
  const payment = requirePayment(ctx)
  const logs: Log[] = []
  let end: BlockRef | undefined
  for await (const part of readHistory(ctx, { from: scan.number + 1, to: head.number, signal })) {
    logs.push(...part.logs)
    end = part.end
  }
  // The chain moved meanwhile, or nodes disagree: the next poll reads it again.
  if (end?.hash !== head.hash) return
  await ctx.accounts.write(async (tx) => {
    await storeDeposits(tx, toDeposits(logs, false))
    await writeScan(tx, payment, { ...scan, ...head })
  })
}

/** Reads final blocks again, because a node may leave out logs of its newest blocks; also reads history. */
async function rereadFinal(ctx: Context, final: number, signal: AbortSignal): Promise<void> {
  const payment = requirePayment(ctx)
  const scan = await readScan({ run: ctx.accounts.read }, payment)
  if (scan === undefined || final - scan.rereadNumber < REREAD_BLOCKS) return
  const untilMs = performance.now() + REREAD_MS_MAX
  const range = { from: scan.rereadNumber + 1, to: final, signal }
  for await (const { from, to, logs } of readHistory(ctx, range)) {
    await ctx.accounts.write(async (tx) => {
      // Proves the block again now that it is final: the node may have been on another branch.
      await tx.run(sql`
        update deposits set proven = 0
        where chain_id = ${payment.chain.id} and block_number between ${from} and ${to}`)
      await storeDeposits(tx, toDeposits(logs, false))
      await writeScan(tx, payment, { ...scan, rereadNumber: to })
    })
    if (performance.now() >= untilMs) return
  }
}

async function* readHistory(ctx: Context, range: Omit<HistoryRequest, 'filter'>) {
  const filter = transferFilter(requirePayment(ctx), 'to')
  for await (const part of getPaymentSource(ctx).history({ filter, ...range })) {
    const logs = part.logs.filter((log) => matches(filter, log))
    yield { ...part, logs: logs.map((log) => ({ ...log, timestamp: log.timestamp ?? 0 })) }
  }
}

/** Bounds a pass, because history may have thousands of blocks with deposits. */
const BLOCKS_PER_PASS = 16

/** Each proof may download a megabyte. */
const AT_ONCE = 4

const TRY_AGAIN_SECONDS = 10

/** Blocks never tried come first, newest first; then those that have waited longest. */
async function proveDeposits(ctx: Context, final: number, signal: AbortSignal): Promise<void> {
  const { chain } = requirePayment(ctx)
  const nowUnix = unixNow(ctx.clock)
  const found = await ctx.accounts.read(sql`
    select block_number, block_hash, min(unproven_because) as reason, min(tried_unix) as tried
    from deposits where chain_id = ${chain.id} and proven = 0
      and abs(${nowUnix} - tried_unix) >= ${TRY_AGAIN_SECONDS}
    group by block_number, block_hash order by tried, block_number desc limit ${BLOCKS_PER_PASS}`)
  for (const part of chunks(found, AT_ONCE)) {
    if (signal.aborted) return
    await allEnded(part.map((row) => proveOrNote(ctx, row, final)))
  }
}

/** Replaces the block's deposits by those in its receipts, or notes why they are not proven. */
async function proveOrNote(ctx: Context, row: Row, final: number): Promise<void> {
  const payment = requirePayment(ctx)
  const { chain } = payment
  const block = { number: column.integer(row, 'block_number'), hash: column.hex(row, 'block_hash') }
  const ofBlock = sql`chain_id = ${chain.id} and block_hash = ${block.hash}`
  try {
    const header = await getPaymentSource(ctx).header(block.number)
    // If final, takes the deposits of the block that stands there now, once it is proven.
    if (header === undefined || (header.hash !== block.hash && block.number > final))
      throw new RpcError(
        `block ${block.number} is ${header?.hash ?? 'not known'}, not ${block.hash}`,
      )
    const filter = transferFilter(payment, 'to')
    const { logs } = await getPaymentSource(ctx).provenBlock(header)
    const paying = logs.filter((log) => matches(filter, log))
    await ctx.accounts.write(async (tx) => {
      await tx.run(sql`
        delete from deposits where chain_id = ${chain.id}
          and (block_number = ${header.number} or block_hash = ${header.hash})`)
      await storeDeposits(tx, toDeposits(paying, true))
    })
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    const reason = error.message.slice(0, REASON_MAX)
    if (reason !== row.reason)
      ctx.logger.warn(
        { chain: chain.name, blockNumber: block.number, reason },
        'a deposit is waiting for a proof',
      )
    await ctx.accounts.write((tx) =>
      tx.run(sql`
        update deposits set tried_unix = ${unixNow(ctx.clock)}, unproven_because = ${reason}
        where ${ofBlock} and proven = 0`),
    )
  }
}

const REASON_MAX = 500

/**
 * Reads the hash from a header that hashes to it. Undefined while unknown: only a different hash proves that a block
 * left the chain; a missing log does not.
 */
export async function blockHashAt(ctx: Context, number: number): Promise<Hash | undefined> {
  const source = getPaymentSource(ctx)
  try {
    const header = await source.header(number)
    if (header === undefined) return undefined
    await source.provenBlock(header, () => false)
    return header.hash
  } catch (error) {
    if (error instanceof RpcError) return undefined
    throw error
  }
}
