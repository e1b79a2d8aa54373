import { EndpointError } from '#chains/chain/endpoints/endpoint-error.ts'
import { openRpcSource } from '#chains/chain/rpc-source.ts'
import { isObject } from '#lib/json.ts'
import type { Clock } from '#lib/time.ts'
import { messageOf, oneLine } from './discover/chain-view.ts'
import { type Node, openNode } from './node.ts'

/** What one endpoint can do; null where it could not be found out. */
export interface ProbedEndpoint {
  readonly host: string
  readonly chainId: number
  readonly clientVersion: string | null
  readonly headNumber: number
  readonly headUnix: number
  readonly latencyMs: number
  /** Blocks between the head and the final block; null without the tag. */
  readonly finalityLag: number | null
  /** The largest range of blocks that `eth_getLogs` accepted, and why a larger one was not. */
  readonly logRange: { readonly blocks: number; readonly refusal: string | null }
  readonly timestampsInLogs: boolean | null
  /** Why logs of a new block cannot be proven by receipts; null: they can. */
  readonly unproven: string | null
  readonly blockReceipts: boolean
  /** How many blocks below the head the state is kept, of those tried. */
  readonly archiveBlocks: number
  /** Size of a compressed answer as a share of the plain one; 1: not compressed. */
  readonly compression: number
}

/** Throws EndpointError if the endpoint does not answer at all. */
export async function probeEndpoint(url: string, clock: Clock): Promise<ProbedEndpoint> {
  const node = openNode(url)
  const chainId = Number(await node.ask('eth_chainId'))
  const head = await readBlock(node, 'latest')
  const finalized = await readBlock(node, 'finalized').catch(() => undefined)
  const { bodyBytes, wireBytes } = await node.measure('eth_getBlockByNumber', 'latest', true)
  const version = await node.ask('web3_clientVersion').catch(() => null)
  return {
    host: node.host,
    chainId,
    clientVersion: typeof version === 'string' ? oneLine(version) : null,
    headNumber: head.number,
    headUnix: head.timestamp,
    latencyMs: await measureLatency(node, clock),
    finalityLag: finalized === undefined ? null : head.number - finalized.number,
    logRange: await findLogRange(node, head.number),
    timestampsInLogs: await hasTimestamps(node, head.number),
    unproven: await findUnproven(url, { chainId, block: Math.max(0, head.number - 2) }),
    blockReceipts: await answers(node, 'eth_getBlockReceipts', toHex(head.number)),
    archiveBlocks: await findArchive(node, head.number),
    compression: wireBytes / bodyBytes,
  }
}

async function readBlock(node: Node, tag: string) {
  const block = await node.ask('eth_getBlockByNumber', tag, false)
  if (!isObject(block)) throw new EndpointError('malformed', `no block "${tag}"`)
  return { number: Number(block.number), timestamp: Number(block.timestamp) }
}

const LATENCY_CALLS = 5

async function measureLatency(node: Node, clock: Clock): Promise<number> {
  const times: number[] = []
  for (let call = 0; call < LATENCY_CALLS; call += 1) {
    const startedMs = clock()
    await node.ask('eth_blockNumber')
    times.push(clock() - startedMs)
  }
  return times.sort((a, b) => a - b)[Math.floor(LATENCY_CALLS / 2)] ?? 0
}

const RANGES = [100, 1_000, 10_000, 100_000, 1_000_000]

/** No log has this topic, so only the range decides. */
const NO_TOPIC = `0x${'5e'.repeat(32)}`

async function findLogRange(node: Node, head: number): Promise<ProbedEndpoint['logRange']> {
  let accepted = 0
  for (const blocks of RANGES) {
    const range = { fromBlock: toHex(Math.max(0, head - blocks + 1)), toBlock: toHex(head) }
    try {
      await node.ask('eth_getLogs', { ...range, topics: [NO_TOPIC] })
      accepted = Math.min(blocks, head + 1)
    } catch (error) {
      return { blocks: accepted, refusal: messageOf(error) }
    }
    if (blocks > head) break
  }
  return { blocks: accepted, refusal: null }
}

const TIMESTAMP_BLOCKS = 50

async function hasTimestamps(node: Node, head: number): Promise<boolean | null> {
  const range = { fromBlock: toHex(Math.max(0, head - TIMESTAMP_BLOCKS)), toBlock: toHex(head) }
  const logs = await node.ask('eth_getLogs', range).catch(() => undefined)
  const first: unknown = Array.isArray(logs) ? logs[0] : undefined
  return isObject(first) ? Number(first.blockTimestamp ?? 0) > 0 : null
}

async function findUnproven(
  url: string,
  { chainId, block }: { readonly chainId: number; readonly block: number },
): Promise<string | null> {
  const source = openRpcSource({ chainId, urls: [url] })
  try {
    const header = await source.header(block)
    if (header !== undefined) await source.provenBlock(header)
    return null
  } catch (error) {
    return messageOf(error)
  }
}

async function answers(node: Node, method: string, ...params: readonly unknown[]) {
  return node.ask(method, ...params).then(Array.isArray, () => false)
}

/** Looks back in steps of four, from what every node keeps to the first block. */
async function findArchive(node: Node, head: number): Promise<number> {
  let kept = 0
  for (let depth = 16; ; depth *= 4) {
    const block = Math.max(0, head - depth)
    const found = await node
      .ask('eth_getBalance', `0x${'0'.repeat(40)}`, toHex(block))
      .catch(() => undefined)
    if (typeof found !== 'string') return kept
    kept = head - block
    if (block === 0) return kept
  }
}

function toHex(number: number): string {
  return `0x${number.toString(16)}`
}
