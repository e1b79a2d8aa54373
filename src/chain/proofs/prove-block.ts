import type { Address, Hash } from '#domain/address.ts'
import type { BlockHeader, BlockRef, Log } from '#domain/chain.ts'
import { allEnded } from '#lib/all-ended.ts'
import { chunks } from '#lib/chunks.ts'
import type { ProvenBlock } from '../chain-source.ts'
import { EndpointError } from '../endpoints/endpoint-error.ts'
import { parseBlock, parseHashes, parseReceipts } from '../parse-rpc.ts'
import { hashHeader, unknownFields } from './hash-header.ts'
import { receiptsRoot } from './receipts-root.ts'

export interface ProveDeps {
  readonly chainId: number
  /** Calls a node; one proof uses the same node throughout. */
  ask(method: string, ...params: unknown[]): Promise<unknown>
  /** Whether an error means that the node does not serve receipts of whole blocks. */
  isRefusal(error: unknown): boolean
}

/**
 * Proves every log of a block: the header's fields hash to the block's hash, and the receipts to its
 * `receiptsRoot`. The transaction of a log is unproven, because receipts do not include it. Throws
 * EndpointError `unproven` if the node's answers contradict each other.
 */
export async function proveBlock(
  deps: ProveDeps,
  ref: BlockRef,
  /** Where this rejects the proven header, no receipts are requested. */
  wants?: (header: BlockHeader) => boolean,
): Promise<ProvenBlock> {
  try {
    return await proveAnswers(deps, ref, wants)
  } catch (error) {
    if (error instanceof EndpointError) throw error
    // A malformed answer proves nothing, but does not set the node aside.
    throw unproven(ref, error instanceof Error ? error.message : String(error))
  }
}

async function proveAnswers(
  deps: ProveDeps,
  ref: BlockRef,
  wants: ((header: BlockHeader) => boolean) | undefined,
): Promise<ProvenBlock> {
  const [block, early] = await allEnded([
    deps.ask('eth_getBlockByHash', ref.hash, false),
    wants === undefined ? askReceipts(deps, ref) : undefined,
  ])
  const { header, fields } = proveHeader(ref, block)
  if (wants?.(header) === false) return { header, logs: [] }
  const all = wants === undefined ? early : await askReceipts(deps, ref)
  const txHashes = parseHashes(fields.transactions)
  const mayAskForEach = txHashes.length <= mostTransactions(fields.gasUsed)
  if (all === null && !mayAskForEach)
    throw unproven(ref, `its gas is not enough for ${txHashes.length} transactions`)
  const receipts = parseReceipts(all ?? (await askOneByOne(deps, txHashes)))
  const inOrder = receipts.toSorted(
    (a, b) => Number(a.transactionIndex) - Number(b.transactionIndex),
  )
  const isOfBlock = inOrder.every(
    ({ transactionHash, transactionIndex }, index) =>
      Number(transactionIndex) === index && transactionHash.toLowerCase() === txHashes[index],
  )
  if (!isOfBlock || inOrder.length !== txHashes.length)
    throw unproven(ref, 'its receipts are not those of its transactions')
  if ((await receiptsRoot(inOrder)) !== String(fields.receiptsRoot).toLowerCase())
    throw unproven(ref, 'its receipts do not hash to its receiptsRoot')
  return { header, logs: logsOf(deps.chainId, header, inOrder) }
}

function proveHeader(ref: BlockRef, block: unknown) {
  const header = parseBlock(block)
  if (header === undefined || typeof block !== 'object' || block === null)
    throw unproven(ref, 'the node does not know it')
  const fields: Readonly<Record<string, unknown>> = { ...block }
  if (header.number !== ref.number || hashHeader(fields) !== ref.hash)
    throw unproven(ref, `its header does not hash to its hash${hintOf(fields)}`)
  return { header, fields }
}

/** Unknown fields never turn proofs off by themselves, or a node could do so with a made-up field. */
function hintOf(fields: Readonly<Record<string, unknown>>): string {
  const names = unknownFields(fields).slice(0, HINTED_MAX)
  if (names.length === 0) return ''
  const listed = names.map((name) => JSON.stringify(name.slice(0, NAME_MAX))).join(', ')
  return `; this version does not know its fields ${listed}: update, or write proofs: "deposits" for the chain`
}

/** Bounded because the node chooses the names. */
const HINTED_MAX = 4
const NAME_MAX = 40

/** Null if each receipt has to be requested separately. */
async function askReceipts({ ask, isRefusal }: ProveDeps, { hash }: BlockRef): Promise<unknown> {
  try {
    return await ask('eth_getBlockReceipts', hash)
  } catch (error) {
    if (isRefusal(error)) return null
    throw error
  }
}

/** Minimum gas of a transaction that its sender pays for (Yellow Paper, appendix G). */
const GAS_OF_TRANSACTION = 21_000

/** Rollups add system transactions that may use no gas: one or two per block, more at a fork. */
const FREE_TRANSACTIONS_MAX = 64

/** Bounds the work: the header is proven, but the node's list of transactions is not. */
function mostTransactions(gasUsed: unknown): number {
  return Number(gasUsed) / GAS_OF_TRANSACTION + FREE_TRANSACTIONS_MAX
}

/** Concurrent requests for single receipts. */
const ASKED_AT_ONCE = 32

async function askOneByOne(
  { ask }: ProveDeps,
  txHashes: readonly Hash[],
): Promise<readonly unknown[]> {
  const receipts: unknown[] = []
  for (const part of chunks(txHashes, ASKED_AT_ONCE))
    receipts.push(...(await allEnded(part.map((hash) => ask('eth_getTransactionReceipt', hash)))))
  return receipts
}

/** Uses hashed fields only; log indexes follow from the order of receipts. */
function logsOf(
  chainId: number,
  { number, hash, timestamp }: BlockHeader,
  receipts: ReturnType<typeof parseReceipts>,
): readonly Log[] {
  const logs: Log[] = []
  for (const [txIndex, { transactionHash, logs: own }] of receipts.entries())
    for (const { address, topics, data } of own)
      logs.push({
        ...{ chainId, blockNumber: number, blockHash: hash, timestamp, txIndex },
        txHash: transactionHash.toLowerCase() as Hash,
        logIndex: logs.length,
        address: address.toLowerCase() as Address,
        topics: topics.map((topic) => topic.toLowerCase() as Hash),
        data: data.toLowerCase() as `0x${string}`,
      })
  return logs
}

function unproven({ number, hash }: BlockRef, reason: string): EndpointError {
  return new EndpointError('unproven', `block ${number} ${hash} cannot be proven: ${reason}`)
}
