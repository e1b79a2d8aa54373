import { from } from 'ox/AbiFunction'
import type { Address } from '#base/address.ts'
import type { ChainSource } from '#chain/chain-source.ts'
import { openRpcSource } from '#chain/rpc-source.ts'
import { callView } from '#index/call-view.ts'
import { KNOWN_CHAINS, type KnownChain } from '#ops/setup/known-chains.ts'

export interface ChainView {
  readonly name: string
  readonly id: number
  readonly urls: readonly string[]
  readonly known: KnownChain | undefined
  readonly source: ChainSource
  readonly headNumber: number
}

export class SetupError extends Error {
  override readonly name = 'SetupError'
}

/** URLs of one chain id become one chain. Reports every URL that fails. */
export async function openChains(urls: readonly string[]): Promise<readonly ChainView[]> {
  const problems = urls
    .filter((url) => !/^https?:/.test(url) || !URL.canParse(url))
    .map((url) => `--rpc: not an http(s) URL: "${url}"; write https://… or http://…`)
  if (problems.length > 0) throw new SetupError(problems.join('\n'))
  const nodes = await Promise.all(
    urls.map(async (url) => {
      // Any chain will do.
      const source = openRpcSource({ chainId: 0, urls: [url] })
      const id = await source.askChainId().catch((error: unknown) => {
        problems.push(`--rpc: ${describeError(error)}`)
        return 0
      })
      return { id, url }
    }),
  )
  if (problems.length > 0)
    throw new SetupError(`${problems.join('\n')}\ncheck the URL, or start the node`)
  return Promise.all(
    [...Map.groupBy(nodes, ({ id }) => id)].map(async ([id, same]) => {
      const own = same.map(({ url }) => url)
      const known = KNOWN_CHAINS[id]
      const source = openRpcSource({ chainId: id, urls: own })
      const headNumber = (await source.header('latest'))?.number ?? 0
      return { name: known?.name ?? `chain-${id}`, id, urls: own, known, source, headNumber }
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
