import type { Address, Hash } from '#base/address.ts'
import { allEnded, chunks } from '#base/async.ts'
import type { BlockHeader, BlockRef, Log } from '#base/chain.ts'
import {
  isKnownType,
  parseBlock,
  parseHashes,
  parseReceipts,
  receiptsRoot,
  unknownFields,
} from '#chain/parse-rpc.ts'
import { EndpointError } from '#chain/rpc-error.ts'
import type { ProvenBlock } from '../chain-source.ts'

interface ProveDeps {
  readonly chainId: number
  ask(method: string, ...params: unknown[]): Promise<unknown>
  isRefusal(error: unknown): boolean
}

/**
 * The header must hash to the block's hash, the receipts to its `receiptsRoot`. Transaction hashes
 * stay unproven: receipts omit them. Throws EndpointError `unproven`.
 */
export async function proveBlock(
  deps: ProveDeps,
  ref: BlockRef,
  wants?: (header: BlockHeader) => boolean,
): Promise<ProvenBlock> {
  try {
    return await proveAnswers(deps, ref, wants)
  } catch (error) {
    if (error instanceof EndpointError) throw error
    // Proves nothing, but does not set the node aside.
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
  const prove = (receipts: unknown) => proveReceipts({ ref, fields, txHashes }, receipts)
  const proveEach = async () => prove(await askOneByOne(deps, txHashes))
  // Some nodes tell a block's receipts short, twice or not at all, and each alone as it is.
  const receipts =
    all === null
      ? await proveEach()
      : await prove(all).catch((error) => (mayAskForEach ? proveEach() : Promise.reject(error)))
  return { header, logs: collectLogs(deps.chainId, header, receipts) }
}

/** Returns them in order. */
async function proveReceipts(
  block: {
    readonly ref: BlockRef
    readonly fields: Readonly<Record<string, unknown>>
    readonly txHashes: readonly Hash[]
  },
  receipts: unknown,
): Promise<ReturnType<typeof parseReceipts>> {
  const { ref, fields, txHashes } = block
  const inOrder = parseReceipts(receipts).toSorted(
    (a, b) => Number(a.transactionIndex) - Number(b.transactionIndex),
  )
  const isOfBlock = inOrder.every(
    ({ transactionHash, transactionIndex }, index) =>
      Number(transactionIndex) === index && transactionHash.toLowerCase() === txHashes[index],
  )
  if (!isOfBlock || inOrder.length !== txHashes.length)
    throw unproven(ref, 'its receipts are not those of its transactions')
  if ((await receiptsRoot(inOrder)) !== String(fields.receiptsRoot).toLowerCase())
    throw unproven(ref, `its receipts do not hash to its receiptsRoot${hintOfType(inOrder)}`)
  return inOrder
}

function proveHeader(ref: BlockRef, block: unknown) {
  const header = parseBlock(block)
  if (header === undefined || typeof block !== 'object' || block === null)
    throw unproven(ref, 'the node does not know it')
  const fields: Readonly<Record<string, unknown>> = { ...block }
  if (header.number !== ref.number || header.hash !== ref.hash || header.logsBloom === null)
    throw unproven(ref, `its header does not hash to its hash${explainMismatch(fields)}`)
  return { header, fields }
}

/** Unknown fields never disable proofs: a node could make one up. */
function explainMismatch(fields: Readonly<Record<string, unknown>>): string {
  const names = unknownFields(fields).slice(0, HINTED_MAX)
  if (names.length === 0) return ''
  const listed = names.map((name) => JSON.stringify(name.slice(0, NAME_MAX))).join(', ')
  return `; this version does not know its fields ${listed}: ${REMEDY}`
}

function hintOfType(receipts: ReturnType<typeof parseReceipts>): string {
  const unknown = receipts.find((receipt) => !isKnownType(receipt))
  if (unknown === undefined) return ''
  return `; this version does not know the receipt of type ${unknown.type} of transaction ${unknown.transactionHash}: ${REMEDY}`
}

const REMEDY = 'update Sexton, or set proofs: "deposits" for the chain in the ecosystem file'

const HINTED_MAX = 4
const NAME_MAX = 40

/** Null if they must be requested one by one. */
async function askReceipts({ ask, isRefusal }: ProveDeps, { hash }: BlockRef): Promise<unknown> {
  try {
    return await ask('eth_getBlockReceipts', hash)
  } catch (error) {
    if (isRefusal(error)) return null
    throw error
  }
}

/** Yellow Paper, appendix G. */
const GAS_OF_TRANSACTION = 21_000

/** System transactions of rollups may use no gas. */
const FREE_TRANSACTIONS_MAX = 64

/** Bounds the node's unproven transaction list. */
function mostTransactions(gasUsed: unknown): number {
  return Number(gasUsed) / GAS_OF_TRANSACTION + FREE_TRANSACTIONS_MAX
}

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

/**
 * Uses hashed fields only. Log indexes of the node only show whether the chain numbers logs per
 * transaction or per block; `eth_getLogs` must return the same numbers later.
 */
function collectLogs(
  chainId: number,
  { number, hash, timestamp }: BlockHeader,
  receipts: ReturnType<typeof parseReceipts>,
): readonly Log[] {
  const isPerTransaction = receipts.every((receipt) =>
    receipt.logs.every(({ logIndex }, position) => Number(logIndex ?? Number.NaN) === position),
  )
  const logs: Log[] = []
  for (const [txIndex, { transactionHash, logs: own }] of receipts.entries())
    for (const [position, { address, topics, data }] of own.entries())
      logs.push({
        chainId,
        blockNumber: number,
        blockHash: hash,
        timestamp,
        txIndex,
        txHash: transactionHash.toLowerCase() as Hash,
        logIndex: isPerTransaction ? position : logs.length,
        address: address.toLowerCase() as Address,
        topics: topics.map((topic) => topic.toLowerCase() as Hash),
        data: data.toLowerCase() as `0x${string}`,
      })
  return logs
}

function unproven({ number, hash }: BlockRef, reason: string): EndpointError {
  return new EndpointError('unproven', `block ${number} ${hash} cannot be proven: ${reason}`)
}
