import assert from 'node:assert/strict'
import { from } from 'ox/AbiFunction'
import type { Address } from '#base/address.ts'
import { sleep } from '#base/async.ts'
import type { Clock } from '#base/time.ts'
import type { ChainSource } from '#chain/chain-source.ts'
import { listSecrets, withoutSecrets } from '#chain/endpoints/endpoint.ts'
import { openPost, readAnswer } from '#chain/endpoints/json-rpc.ts'
import { EndpointError } from '#chain/rpc-error.ts'
import { openRpcSource } from '#chain/rpc-source.ts'
import { callView } from '#index/call-view.ts'
import { KNOWN_CHAINS, type KnownChain } from '#ops/setup/known-chains.ts'

export interface ChainView {
  readonly name: string
  readonly id: number
  readonly urls: readonly string[]
  readonly known: KnownChain | undefined
  readonly node: Node
  readonly source: ChainSource
  readonly headNumber: number
  readonly clock: Clock
}

export class SetupError extends Error {
  override readonly name = 'SetupError'
}

/** URLs of one chain id become one chain. Reports every URL that fails. */
export async function openChains(
  urls: readonly string[],
  clock: Clock,
): Promise<readonly ChainView[]> {
  const problems: string[] = []
  const nodes: { readonly id: number; readonly node: Node }[] = []
  for (const url of urls) {
    if (!/^https?:/.test(url) || !URL.canParse(url))
      throw new SetupError(`--rpc: not an http(s) URL: "${url}"; write https://… or http://…`)
    const node = openNode(url)
    try {
      nodes.push({ id: Number(await node.ask('eth_chainId')), node })
    } catch (error) {
      problems.push(`--rpc ${node.host}: no answer to eth_chainId (${describeError(error)})`)
    }
  }
  if (problems.length > 0)
    throw new SetupError(`${problems.join('\n')}\ncheck the URL, or start the node`)
  return Promise.all(
    [...Map.groupBy(nodes, ({ id }) => id)].map(async ([id, [first, ...more]]) => {
      assert(first !== undefined)
      const { node } = first
      const own = [first, ...more].map((each) => each.node.url)
      const known = KNOWN_CHAINS[id]
      const headNumber = Number(await node.ask('eth_blockNumber'))
      const source = openRpcSource({ chainId: id, urls: own })
      const name = known?.name ?? `chain-${id}`
      return { name, id, urls: own, known, node, source, headNumber, clock }
    }),
  )
}

export function ask(
  { source }: Pick<ChainView, 'source'>,
  address: Address,
  view: string,
  args?: readonly unknown[],
): Promise<unknown> {
  const declaration: string = `function ${view}`
  const item = from(declaration)
  if (item.type !== 'function') throw new TypeError(`not a function: ${view}`)
  return callView(source, { field: address, address, view: item, args })
}

const LINE_MAX = 500

/** Words of a node must not steer a terminal or pass for a line of ours. */
export function describeError(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.replace(/[\s\p{Cc}]+/gu, ' ').slice(0, LINE_MAX)
}

/** One JSON-RPC endpoint, asked directly: no failover, and errors as the node worded them. */
interface Node {
  readonly url: string
  readonly host: string
  /** Throws EndpointError. Waits and asks again while the node is rate-limiting. */
  ask(method: string, ...params: readonly unknown[]): Promise<unknown>
}

const TIMEOUT_MS = 15_000

/** Together about eight seconds, longer than the windows of public rate limits. */
const WAITS_MS = [500, 1_000, 2_000, 4_000]

/** Longer waits are reported instead. */
const WAIT_MAX_MS = 60_000

export function openNode(url: string): Node {
  const post = openPost(url)
  const secrets = listSecrets(url)
  const ask = async (method: string, params: readonly unknown[], waits: readonly number[]) => {
    const [waitMs, ...later] = waits
    try {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
      return readAnswer(await post(body, { timeoutMs: TIMEOUT_MS }), { id: 1, method })
    } catch (error) {
      if (!(error instanceof EndpointError)) throw error
      const { kind, message, retryAfterMs = waitMs ?? 0 } = error
      if (kind !== 'too-fast' || waitMs === undefined || retryAfterMs > WAIT_MAX_MS)
        throw new EndpointError(kind, withoutSecrets(message, secrets), error)
      await sleep(retryAfterMs)
      return ask(method, params, later)
    }
  }
  return {
    url,
    host: new URL(url).host,
    ask: (method, ...params) => ask(method, params, WAITS_MS),
  }
}

export interface TokenFacts {
  readonly address: Address
  readonly symbol: string
  readonly name: string
  readonly decimals: number
}

/** Undefined if the address has no contract with the views of EIP-20. */
export async function readToken(
  view: ChainView,
  address: Address,
): Promise<TokenFacts | undefined> {
  const [symbol, name, decimals] = await Promise.all([
    readText(view, address, 'symbol'),
    readText(view, address, 'name'),
    ask(view, address, 'decimals() view returns (uint8)'),
  ])
  if (symbol === undefined || typeof decimals !== 'number') return undefined
  const plain = symbol.replace(/[^A-Za-z0-9.$_-]/g, '').slice(0, 16)
  if (plain === '') return undefined
  return { address, symbol: plain, name: safeName(name ?? '') || plain, decimals }
}

/** Reads no variable of the operator's environment, and does not steer a terminal. */
export function safeName(text: string): string {
  return text
    .replace(/[{\p{Cc}]/gu, '')
    .trim()
    .slice(0, 64)
}

async function readText(view: ChainView, address: Address, name: string) {
  const text = await ask(view, address, `${name}() view returns (string)`)
  if (typeof text === 'string') return text
  const word = await ask(view, address, `${name}() view returns (bytes32)`)
  if (typeof word !== 'string') return undefined
  return Buffer.from(word.slice(2), 'hex').toString('utf8').replaceAll('\0', '')
}
