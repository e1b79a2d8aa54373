import type { Hash } from '#base/address.ts'
import { allEnded } from '#base/async.ts'
import type { BlockHeader, BlockRef, Log } from '#base/chain.ts'
import { chunks } from '#base/chunks.ts'
import { unixNow } from '#base/time.ts'
import type { ChainSource, HistoryPart } from '#chain/chain-source.ts'
import { matches, readTip } from '#chain/follow.ts'
import { RpcError } from '#chain/rpc-error.ts'
import { openRpcSource } from '#chain/rpc-source.ts'
import { type Context, oncePerContext } from '#context.ts'
import { column, sql } from '#db/sql.ts'
import { requirePayment } from '#payments/x402/offer.ts'
import {
  type DepositScan,
  depositFilter,
  REREAD_BLOCKS,
  readScan,
  storeDeposits,
  toDeposits,
  writeScan,
} from './deposits.ts'

/** Reads history in short steps, because payers wait for the head. */
const REREAD_MS_MAX = 5_000

export const getPaymentSource = oncePerContext((ctx) => {
  const { id: chainId, rpcUrls: urls } = requirePayment(ctx).chain
  return openRpcSource({ chainId, urls })
})

/**
 * Reads new blocks at the head for transfers to `payTo`, proves those that have any, then reads some of what became
 * final. Independent of the index, so that deposits are found while a register is built.
 */
export async function scanDeposits(ctx: Context, signal: AbortSignal): Promise<void> {
  const source = getPaymentSource(ctx)
  const { head, finalized } = await readTip({
    source,
    finality: requirePayment(ctx).chain.finality,
  })
  const stored = await readScan({ run: ctx.accounts.read }, requirePayment(ctx))
  const scan = stored ?? (await beginScan(ctx, finalized))
  if (scan === undefined || isLagging(head, scan)) return
  const same = await source.header(scan.number)
  if (same === undefined) throw new RpcError(`the node does not know block ${scan.number}`)
  const final = Math.max(scan.finalizedNumber, finalized)
  if (same.hash !== scan.hash) return rewind(ctx, scan, finalized)
  const at = await skipFinal(source, scan, final)
  if (head.number > at.number) await readHead(ctx, { scan: at, head, final }, signal)
  await proveDeposits(ctx, final, signal)
  await rereadFinal(ctx, final, signal)
}

const LAG_BLOCKS_MAX = 64

/** Ignores a node that is slightly behind; one far behind fails, as it may serve another chain. */
function isLagging(head: BlockRef, scan: BlockRef): boolean {
  const behind = scan.number - head.number
  return behind > 0 && behind < LAG_BLOCKS_MAX
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
    await writeScan(tx, { payment, scan })
  })
  return scan
}

/** After a pause, reads the blocks that became final meanwhile in steps, like other final blocks. */
async function skipFinal(
  source: ChainSource,
  scan: DepositScan,
  final: number,
): Promise<DepositScan> {
  if (final - scan.number < REREAD_BLOCKS) return scan
  const header = await source.header(final)
  if (header === undefined) throw new RpcError(`the node does not know block ${final}`)
  return { ...scan, ...header }
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
  const header = await getPaymentSource(ctx).header(finalizedNumber)
  if (header === undefined) throw new RpcError(`the node does not know block ${finalizedNumber}`)
  await ctx.accounts.write(async (tx) => {
    await tx.run(sql`
      delete from deposits
      where chain_id = ${payment.chain.id} and block_number > ${finalizedNumber}`)
    await writeScan(tx, { payment, scan: { ...scan, ...header } })
  })
}

async function readHead(
  ctx: Context,
  at: { readonly scan: DepositScan; readonly head: BlockHeader; readonly final: number },
  signal: AbortSignal,
): Promise<void> {
  const payment = requirePayment(ctx)
  const { scan, head, final } = at
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
    await writeScan(tx, { payment, scan: { ...scan, ...head, finalizedNumber: final } })
  })
}

/** Reads final blocks again, because a node may leave out logs of its newest blocks; also reads history. */
async function rereadFinal(ctx: Context, final: number, signal: AbortSignal): Promise<void> {
  const payment = requirePayment(ctx)
  const scan = await readScan({ run: ctx.accounts.read }, payment)
  if (scan === undefined || final - scan.rereadNumber < REREAD_BLOCKS) return
  const untilMs = performance.now() + REREAD_MS_MAX
  for await (const { from, to, logs } of readHistory(ctx, {
    from: scan.rereadNumber + 1,
    to: final,
    signal,
  })) {
    await ctx.accounts.write(async (tx) => {
      // Proves the block again now that it is final: the node may have been on another branch.
      await tx.run(sql`
        update deposits set proven = 0
        where chain_id = ${payment.chain.id} and block_number between ${from} and ${to}`)
      await storeDeposits(tx, toDeposits(logs, false))
      await writeScan(tx, { payment, scan: { ...scan, rereadNumber: to } })
    })
    if (performance.now() >= untilMs) return
  }
}

async function* readHistory(
  ctx: Context,
  range: { readonly from: number; readonly to: number; readonly signal: AbortSignal },
): AsyncIterable<Pick<HistoryPart, 'from' | 'to' | 'end'> & { readonly logs: readonly Log[] }> {
  const filter = depositFilter(requirePayment(ctx))
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

interface UnprovenBlock extends BlockRef {
  readonly reason: string | null
}

async function proveDeposits(ctx: Context, final: number, signal: AbortSignal): Promise<void> {
  const blocks = await dueBlocks(ctx)
  for (const part of chunks(blocks, AT_ONCE)) {
    if (signal.aborted) return
    await allEnded(part.map((block) => proveOrNote(ctx, block, final)))
  }
}

/** Blocks never tried come first, newest first; then those that have waited longest. */
async function dueBlocks(ctx: Context): Promise<readonly UnprovenBlock[]> {
  const { chain } = requirePayment(ctx)
  const nowUnix = unixNow(ctx.clock)
  const found = await ctx.accounts.read(sql`
    select block_number, block_hash, min(unproven_because) as reason, min(tried_unix) as tried
    from deposits where chain_id = ${chain.id} and proven = 0
      and abs(${nowUnix} - tried_unix) >= ${TRY_AGAIN_SECONDS}
    group by block_number, block_hash order by tried, block_number desc limit ${BLOCKS_PER_PASS}`)
  return found.map((row) => ({
    number: column.integer(row, 'block_number'),
    hash: column.hex(row, 'block_hash'),
    reason: column.textOrNull(row, 'reason'),
  }))
}

async function proveOrNote(ctx: Context, block: UnprovenBlock, final: number): Promise<void> {
  const { chain } = requirePayment(ctx)
  const ofBlock = sql`chain_id = ${chain.id} and block_hash = ${block.hash}`
  try {
    const header = await getPaymentSource(ctx).header(block.number)
    // If final, takes the deposits of the block that stands there now, once it is proven.
    if (header === undefined || (header.hash !== block.hash && block.number > final))
      throw new RpcError(
        `block ${block.number} is ${header?.hash ?? 'not known'}, not ${block.hash}`,
      )
    await storeProven(ctx, header)
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    const reason = error.message.slice(0, REASON_MAX)
    if (reason !== block.reason)
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

/** Replaces the block's deposits by those in its receipts. */
async function storeProven(ctx: Context, block: BlockRef): Promise<void> {
  const { chain } = requirePayment(ctx)
  const filter = depositFilter(requirePayment(ctx))
  const { logs } = await getPaymentSource(ctx).provenBlock(block)
  const deposits = toDeposits(
    logs.filter((log) => matches(filter, log)),
    true,
  )
  await ctx.accounts.write(async (tx) => {
    await tx.run(sql`
      delete from deposits where chain_id = ${chain.id}
        and (block_number = ${block.number} or block_hash = ${block.hash})`)
    await storeDeposits(tx, deposits)
  })
}

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
