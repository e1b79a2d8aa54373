import { from as addressFrom } from 'ox/ContractAddress'
import { type Address, parseAddress } from '#domain/address.ts'
import { isObject } from '#lib/json.ts'
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

/** EIP-1967: keccak256('eip1967.proxy.implementation') - 1. */
const IMPLEMENTATION_SLOT = '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc'

export async function readImplementation(
  { node }: ChainView,
  address: Address,
): Promise<Address | undefined> {
  const word = await node
    .ask('eth_getStorageAt', address, IMPLEMENTATION_SLOT, 'latest')
    .catch(() => undefined)
  const text = typeof word === 'string' ? word.slice(2).padStart(64, '0').slice(24) : ''
  return /[1-9a-f]/.test(text) ? parseAddress(`0x${text}`) : undefined
}

export interface FirstBlock {
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

/** A deployer with more is an account that does other things too. */
const CREATIONS_MAX = 200

export async function siblingsOf(
  view: ChainView,
  token: Address,
  firstBlock: number,
): Promise<readonly Address[]> {
  const deployer = await findDeployer(view, token, firstBlock)
  if (deployer === undefined) return []
  const nonce = Number(await view.node.ask('eth_getTransactionCount', deployer, 'latest'))
  const created = Array.from({ length: Math.min(nonce, CREATIONS_MAX) }, (_, index) =>
    parseAddress(addressFrom({ from: deployer, nonce: BigInt(index) }).toLowerCase()),
  ).filter((each) => each !== undefined)
  return contractsAmong(view, created)
}

async function findDeployer({ node }: ChainView, token: Address, block: number) {
  const found = await node
    .ask('eth_getBlockByNumber', `0x${block.toString(16)}`, true)
    .catch(() => undefined)
  const transactions =
    isObject(found) && Array.isArray(found.transactions) ? found.transactions : []
  for (const each of transactions) {
    if (!isObject(each) || each.to) continue
    const receipt = await node.ask('eth_getTransactionReceipt', each.hash).catch(() => undefined)
    const created = isObject(receipt) ? String(receipt.contractAddress).toLowerCase() : ''
    if (created === token) return parseAddress(String(each.from).toLowerCase())
  }
  return undefined
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
