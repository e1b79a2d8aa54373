import { type Address, parseAddress, parseHash } from '#base/address.ts'
import { findDomain, type TokenDomain } from '#index/prove-ecosystem.ts'
import { ask, type ChainView, messageOf } from './chain-view.ts'

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

interface FirstBlock {
  readonly block: number
  readonly evidence: string
}

/** Bisects to the block of the contract's creation; needs a node with old state. */
export async function findFirstBlock(
  { node, headNumber }: ChainView,
  address: Address,
): Promise<FirstBlock> {
  const hasCode = async (block: number) =>
    (await node.ask('eth_getCode', address, `0x${block.toString(16)}`)) !== '0x'
  try {
    let low = -1
    let high = headNumber
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (await hasCode(middle)) high = middle
      else low = middle
    }
    return { block: high, evidence: 'the block of its creation, found by bisection' }
  } catch (error) {
    return {
      block: 0,
      evidence: `unknown: the node has no old state (${messageOf(error)}); the block of the token's creation is faster to index`,
    }
  }
}

export async function contractsAmong(
  { source }: Pick<ChainView, 'source'>,
  addresses: readonly Address[],
): Promise<readonly Address[]> {
  const codes = await Promise.all(
    addresses.map((address) => source.code(address).catch(() => '0x')),
  )
  return addresses.filter((_, index) => (codes[index]?.length ?? 2) > 2)
}

export interface PaymentAsset {
  readonly token: TokenFacts
  readonly domain: TokenDomain
}

/** Finds the chain's USDC, else a six-decimal token of that symbol among these, with its signing domain. */
export async function readPaymentAsset(
  view: ChainView,
  others: readonly TokenFacts[],
): Promise<PaymentAsset | undefined> {
  const known = view.known && parseAddress(view.known.usdc.toLowerCase())
  const named = others.filter(({ symbol }) => symbol === 'USDC').map(({ address }) => address)
  for (const address of known === undefined ? named : [known]) {
    const token = await readToken(view, address)
    if (token?.decimals !== 6) continue
    const separator = await ask(view, address, 'DOMAIN_SEPARATOR() view returns (bytes32)')
    if (typeof separator !== 'string') continue
    const domain = await findDomain(view.source, address, parseHash(separator) ?? '0x')
    if (domain !== undefined) return { token, domain }
  }
  return undefined
}
