import { type Hex, numberToHex } from 'viem'
import type { RpcCall } from '#test/rpc-server.ts'
import { benchAddresses, benchChain } from './bench-ecosystem.ts'
import { callAnswer } from './call-answer.ts'
import { eventKinds } from './event-kinds.ts'
import type { LogRun } from './log-file.ts'
import type { SyntheticChain } from './synthetic-chain.ts'

/** So many blocks at the head are not final; half as many are not safe. */
const FINAL_DEPTH = 100

const ZERO_HASH: Hex = `0x${'0'.repeat(64)}`
const EMPTY_BLOOM: Hex = `0x${'0'.repeat(512)}`
/** Admits everything; a right one costs more than the rest of the block. */
const FULL_BLOOM: Hex = `0x${'f'.repeat(512)}`

const REVERTED = 'execution reverted'

/** Answers one call as pieces of JSON; `blocksMax` bounds the ranges of `eth_getLogs`. */
export function answerRpc(
  chain: SyntheticChain,
  call: RpcCall,
  blocksMax: number,
): readonly Buffer[] {
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(call.id)},`
  try {
    const result = resultOf(chain, call, blocksMax)
    if (Buffer.isBuffer(result))
      return [Buffer.from(`${head}"result":[`), result, Buffer.from(']}')]
    return [Buffer.from(`${head}"result":${JSON.stringify(result)}}`)]
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const code = message === REVERTED ? 3 : -32_000
    return [Buffer.from(`${head}"error":${JSON.stringify({ code, message })}}`)]
  }
}

function resultOf(chain: SyntheticChain, { method, params }: RpcCall, blocksMax: number): unknown {
  const [first, second] = params
  switch (method) {
    case 'eth_chainId':
      return numberToHex(benchChain.id)
    case 'eth_blockNumber':
      return numberToHex(chain.head)
    case 'eth_getBlockByNumber':
      return blockOf(chain, heightOf(chain, first), second === true)
    case 'eth_getBlockByHash':
      return blockOf(chain, chain.numberOf(String(first)), second === true)
    case 'eth_getLogs':
      return logsOf(chain, first as LogQuery, blocksMax)
    case 'eth_getCode':
      return contracts.has(String(first).toLowerCase()) ? '0x6080' : '0x'
    case 'eth_call':
      return callOf(chain, first as { to: Hex }, heightOf(chain, second ?? 'latest'))
    default:
      throw new Error(`the method ${method} does not exist/is not available`)
  }
}

function callOf(chain: SyntheticChain, call: { readonly to: Hex }, block: number): Hex {
  const result = callAnswer(chain, call, block)
  if (result === undefined) throw new Error(REVERTED)
  return result
}

const contracts = new Set<string>([...eventKinds.map((kind) => kind.address), benchAddresses.weth])

type OneOrMore = string | readonly string[] | null

/** The filter of `eth_getLogs` (ethereum/execution-apis). */
interface LogQuery {
  readonly fromBlock?: string
  readonly toBlock?: string
  readonly blockHash?: string
  readonly address?: OneOrMore
  readonly topics?: readonly OneOrMore[]
}

function logsOf(chain: SyntheticChain, query: LogQuery, blocksMax: number): Buffer {
  const one = query.blockHash === undefined ? undefined : chain.numberOf(query.blockHash)
  const from = one ?? heightOf(chain, query.fromBlock ?? 'latest')
  const to = one ?? heightOf(chain, query.toBlock ?? 'latest')
  if (from > to || to > chain.head) throw new Error('block range extends beyond current head block')
  if (to - from + 1 > blocksMax) throw new Error(`exceed maximum block range: ${blocksMax}`)
  return chain.logs.read(selectLogs(chain, query, [from, to]))
}

/** The logs of some blocks that a filter accepts, as runs of neighbours. */
function selectLogs(
  chain: SyntheticChain,
  query: LogQuery,
  [from, to]: readonly [number, number],
): readonly LogRun[] {
  const verdicts = eventKinds.map(({ address, topic0, topics }) => {
    const [event, ...others] = query.topics ?? []
    if (!accepts(query.address, address) || !accepts(event, topic0)) return 'none'
    // A filter of more topics than a log has does not match it, wildcards or not.
    if (others.length >= topics) return 'none'
    return others.every((each) => accepts(each, undefined)) ? 'all' : 'some'
  })
  const { logs } = chain
  const end = chain.firstLog(to + 1)
  const runs: [number, number][] = []
  for (let log = chain.firstLog(from); log < end; log += 1) {
    const verdict = verdicts[logs.kindOf(log)]
    if (verdict === 'none' || (verdict === 'some' && !hasTopics(logs.read([[log, log]]), query)))
      continue
    const last = runs.at(-1)
    if (last?.[1] === log - 1) last[1] = log
    else runs.push([log, log])
  }
  return runs
}

function hasTopics(text: Buffer, { topics = [] }: LogQuery): boolean {
  const log: { readonly topics: readonly string[] } = JSON.parse(text.toString('latin1'))
  return topics.every((wanted, position) => accepts(wanted, log.topics[position]))
}

/** Nothing and an empty list accept all. */
function accepts(wanted: OneOrMore | undefined, value: string | undefined): boolean {
  const list = [wanted ?? []].flat()
  return list.length === 0 || list.some((each) => each.toLowerCase() === value)
}

/** A block as `eth_getBlockByNumber` gives it, null above the head. */
function blockOf(chain: SyntheticChain, number: number | undefined, full: boolean): object | null {
  if (number === undefined || !(number <= chain.head)) return null
  const hash = chain.hashOf(number)
  const transactions = chain.transactionsOf(number)
  return {
    number: numberToHex(number),
    hash,
    parentHash: number === 0 ? ZERO_HASH : chain.hashOf(number - 1),
    timestamp: numberToHex(chain.timeOf(number)),
    logsBloom: transactions.length > 0 ? FULL_BLOOM : EMPTY_BLOOM,
    ...{ nonce: '0x0000000000000000', mixHash: ZERO_HASH, sha3Uncles: ZERO_HASH, uncles: [] },
    ...{ transactionsRoot: hash, stateRoot: hash, receiptsRoot: hash, extraData: '0x' },
    ...{ miner: benchAddresses.zero, difficulty: '0x0', totalDifficulty: '0x0', size: '0x4b0' },
    ...{ gasLimit: '0x3938700', gasUsed: '0xcb20', baseFeePerGas: '0xf4240' },
    transactions: transactions.map((each) =>
      full ? transactionOf(each, { number, hash }) : each.hash,
    ),
  }
}

function transactionOf(
  { hash, index, kind }: ReturnType<SyntheticChain['transactionsOf']>[number],
  block: { readonly number: number; readonly hash: Hex },
): object {
  return {
    ...{ blockHash: block.hash, blockNumber: numberToHex(block.number), hash },
    ...{ transactionIndex: numberToHex(index), from: hash.slice(0, 42), to: kind.address },
    ...{ nonce: '0x1', value: '0x0', input: `0xa9059cbb${hash.slice(2)}`, gas: '0xcb20' },
    ...{ gasPrice: '0xf4240', maxFeePerGas: '0xf4240', maxPriorityFeePerGas: '0x0' },
    ...{ accessList: [], type: '0x2', chainId: '0x2105', v: '0x1', yParity: '0x1' },
    ...{ r: hash, s: hash },
  }
}

/** The height that a tag or a hex number means. */
function heightOf({ head }: SyntheticChain, tag: unknown): number {
  if (tag === 'latest' || tag === 'pending') return head
  if (tag === 'safe') return Math.max(0, head - FINAL_DEPTH / 2)
  if (tag === 'finalized') return Math.max(0, head - FINAL_DEPTH)
  return tag === 'earliest' ? 0 : Number(tag)
}
