import { type Hex, numberToHex, toEventSelector, zeroAddress } from 'viem'
import { answerView } from './answer-view.ts'
import type { BuiltBlock, BuiltChain, BuiltLog } from './built-chain.ts'
import { wireHeader } from './built-header.ts'
import { type Faults, refusalOf } from './faults.ts'

/** What a node serves and what is wrong with it. */
export interface NodeState {
  chain: BuiltChain
  /** How deep below the head blocks are safe and final. */
  safeDepth: number
  finalDepth: number
  readonly faults: Faults
}

/** A JSON-RPC error object (JSON-RPC 2.0, section 5.1). */
export class RefusedCall extends Error {
  readonly code: number
  constructor({ code, message }: { readonly code: number; readonly message: string }) {
    super(message)
    this.code = code
  }
}

type Parameters = readonly unknown[]

/** Answers one JSON-RPC call from a made-up chain. */
export function answerRpc(node: NodeState, method: string, parameters: Parameters): unknown {
  switch (method) {
    case 'eth_chainId':
      return numberToHex(node.chain.chainId)
    case 'eth_getBlockByNumber':
      return blockAnswer(node, parameters[0])
    case 'eth_getBlockByHash':
      return provableAnswer(node, parameters[0])
    case 'eth_getLogs':
      return logsAnswer(node, parameters[0] as LogQuery)
    case 'eth_getBlockReceipts':
      return receiptsAnswer(node, parameters[0])
    case 'eth_getCode':
      return '0x00'
    case 'eth_call':
      return callAnswer(node, parameters[0] as { to: Hex; data: Hex }, parameters[1])
    default:
      throw new RefusedCall({ code: -32601, message: `the method ${method} does not exist` })
  }
}

function headNumber({ chain, faults }: NodeState): number {
  return Math.min(chain.head.number, faults.headNumber ?? chain.head.number)
}

function numberOf(node: NodeState, tag: unknown): number {
  const head = headNumber(node)
  if (tag === 'latest') return head
  if (tag === 'safe') return Math.max(0, head - node.safeDepth)
  if (tag === 'finalized') return Math.max(0, head - node.finalDepth)
  return Number(tag)
}

function blockAnswer(node: NodeState, tag: unknown): unknown {
  const { tags, shiftedBlocks } = node.faults
  if (tags !== 'right' && (tag === 'safe' || tag === 'finalized')) {
    if (tags === 'unknown') return null
    throw new RefusedCall({ code: -32602, message: `invalid argument 0: invalid block tag ${tag}` })
  }
  const isShifted = shiftedBlocks && typeof tag === 'string' && tag.startsWith('0x')
  const number = numberOf(node, tag) - Number(isShifted && Number(tag) > 0)
  const known = number <= headNumber(node) && !node.faults.nullBlocks.has(number)
  if (!known) return null
  const header = wireHeader(node.chain.at(number))
  if (node.faults.blooms === 'right') return header
  return { ...header, logsBloom: node.chain.at(Math.max(0, number - 1)).logsBloom }
}

interface LogQuery {
  readonly address?: readonly Hex[]
  readonly topics: readonly (readonly Hex[] | null)[]
  readonly blockHash?: Hex
  readonly fromBlock?: Hex
  readonly toBlock?: Hex
}

function logsAnswer(node: NodeState, query: LogQuery): unknown {
  const { faults } = node
  const blocks = blocksOf(node, query)
  const found = blocks.flatMap((block) =>
    block.logs.filter((log) => isWanted(query, log)).map((log) => wireLog(node, block, log)),
  )
  if (faults.logsMax !== undefined && found.length > faults.logsMax.logs)
    throw new RefusedCall(refusalOf(faults.logsMax.dialect))
  if (faults.shuffledLogs) found.reverse()
  const isOfBlock = query.blockHash !== undefined
  if (isOfBlock && faults.hiddenLogs === 'all') return []
  if (isOfBlock && faults.hiddenLogs === 'other-events') return found.filter(isLike(found[0]))
  if (isOfBlock && faults.forgedLogs) return [...found, ...found.slice(0, 1).map(forged)]
  return faults.repeatedLogs ? found.flatMap((log) => [log, log]) : found
}

function isLike(first: WireLog | undefined): (log: WireLog) => boolean {
  return (log) => log.address === first?.address && log.topics[0] === first.topics[0]
}

/** A log like a true one, but with somebody else in its topics. */
function forged(log: WireLog): WireLog {
  const [topic0 = '0x', ...topics] = log.topics
  const strangers = topics.map((_, index) => numberToHex(0xbadn + BigInt(index), { size: 32 }))
  return { ...log, topics: [topic0, ...strangers], logIndex: numberToHex(0xbad) }
}

function blocksOf(node: NodeState, query: LogQuery): readonly BuiltBlock[] {
  const { chain, faults } = node
  const headAt = headNumber(node)
  if (query.blockHash !== undefined) {
    const known = chain.blocks.slice(0, headAt + 1)
    const block = known.findLast((each) => each.hash === query.blockHash)
    if (block === undefined) throw new RefusedCall({ code: -32000, message: 'unknown block' })
    if (!faults.foreignLogs) return [block]
    return known.filter((each) => each !== block && each.logs.length > 0).slice(-1)
  }
  const [from, to] = [Number(query.fromBlock), Number(query.toBlock)]
  if (faults.rangeMax !== undefined && to - from + 1 > faults.rangeMax.blocks)
    throw new RefusedCall(refusalOf(faults.rangeMax.dialect))
  return chain.blocks.slice(Math.max(from, faults.prunedBelow), Math.min(to, headAt) + 1)
}

function isWanted(query: LogQuery, log: BuiltLog): boolean {
  if (query.address?.includes(log.address) === false) return false
  return query.topics.every((wanted, position) => {
    const topic = log.topics[position]
    return wanted === null || (topic !== undefined && wanted.includes(topic))
  })
}

type WireLog = ReturnType<typeof wireLog>

function wireLog(node: NodeState, block: BuiltBlock, log: BuiltLog) {
  const times = {
    right: { blockTimestamp: numberToHex(block.timestamp) },
    missing: {},
    zero: { blockTimestamp: '0x0' },
    wrong: { blockTimestamp: numberToHex(block.timestamp + 1) },
  }
  return {
    address: log.address,
    topics: log.topics,
    data: log.data,
    blockNumber: numberToHex(block.number),
    blockHash: block.hash,
    transactionHash: log.transactionHash,
    transactionIndex: numberToHex(log.transactionIndex),
    logIndex: numberToHex(log.logIndex),
    removed: false,
    ...times[node.faults.timestamps],
  }
}

function receiptsAnswer(node: NodeState, hash: unknown): unknown {
  const { receipts } = node.faults
  if (receipts === 'unsupported')
    throw new RefusedCall({ code: -32601, message: 'the method is not available' })
  const block = node.chain.blocks.findLast((each) => each.hash === hash)
  if (block === undefined || receipts === 'unknown-block')
    throw new RefusedCall({ code: -32000, message: 'block not found' })
  const { logs, receipts: built } = block
  if (built === undefined) return logs.map((log) => ({ logs: [wireLog(node, block, log)] }))
  return built.map((receipt, index) => {
    const own = logs.filter((log) => log.transactionIndex === index)
    return { ...receipt, logs: own.map((log) => wireLog(node, block, log)) }
  })
}

/** A block of a chain that is not provable is unknown by its hash. */
function provableAnswer(node: NodeState, hash: unknown): unknown {
  const block = node.chain.blocks.findLast((each) => each.hash === hash)
  if (block?.receipts === undefined) return null
  const transactions = block.receipts.map(({ transactionHash }) => transactionHash)
  return { ...wireHeader(block), transactions }
}

const TRANSFER = toEventSelector('event Transfer(address from, address to, uint256 value)')
const TOTAL_SUPPLY = '0x18160ddd'
const BALANCE_OF = '0x70a08231'

/**
 * `totalSupply()` and `balanceOf(address)` of any token, by adding its transfers up, and what the
 * contracts say of themselves.
 */
function callAnswer(node: NodeState, call: { to: Hex; data: Hex }, tag: unknown): Hex {
  if (node.faults.callRefusal !== undefined) throw new RefusedCall(node.faults.callRefusal)
  const view = answerView(node.chain.chainId, call)
  if (view !== undefined) return view
  const blocks = node.chain.blocks.slice(0, numberOf(node, tag) + 1)
  const transfers = blocks
    .flatMap((block) => block.logs)
    .filter((log) => log.address === call.to.toLowerCase() && log.topics[0] === TRANSFER)
    .filter((log) => log.topics.length === 3)
  const selector = call.data.slice(0, 10)
  if (selector !== TOTAL_SUPPLY && selector !== BALANCE_OF)
    throw new RefusedCall({ code: 3, message: 'execution reverted' })
  const zero = `0x${zeroAddress.slice(2).padStart(64, '0')}`
  const owner = selector === BALANCE_OF ? `0x${call.data.slice(10)}` : zero
  const balance = transfers.reduce((sum, { topics, data }) => {
    // What the zero address mints to itself is supply, as the first units of a Uniswap v2 pair.
    const isSupply = selector === TOTAL_SUPPLY && topics[1] === zero
    const received = topics[2] === owner && !isSupply ? BigInt(data) : 0n
    return sum + received - (topics[1] === owner ? BigInt(data) : 0n)
  }, 0n)
  const more = isUnannounced(node, call.to, owner, blocks.length - 1) ? 1n : 0n
  const answer = (selector === BALANCE_OF ? balance : -balance) + more
  return numberToHex(BigInt.asUintN(256, answer), { size: 32 })
}

function isUnannounced(node: NodeState, token: Hex, owner: string, block: number): boolean {
  const { unannounced } = node.faults
  if (unannounced === undefined || block < unannounced.fromBlock) return false
  return token.toLowerCase() === unannounced.token && owner.endsWith(unannounced.owner.slice(2))
}
