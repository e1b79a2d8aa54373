import {
  decodeFunctionData,
  encodeAbiParameters,
  encodeFunctionResult,
  type Hex,
  keccak256,
  parseAbi,
  parseAbiParameters,
  toHex,
} from 'viem'
import { benchAddresses, benchChain, benchEcosystem } from './bench-ecosystem.ts'
import { dataStart, eventKinds, KIND, topicStart } from './event-kinds.ts'
import type { SyntheticChain } from './synthetic-chain.ts'

const abi = parseAbi([
  'function decimals() view returns (uint8)',
  'function symbol() view returns (string)',
  'function name() view returns (string)',
  'function version() view returns (string)',
  'function totalSupply() view returns (uint256)',
  'function balanceOf(address owner) view returns (uint256)',
  'function token0() view returns (address)',
  'function token1() view returns (address)',
  'function getReserves() view returns (uint112, uint112, uint32)',
  'function latestAnswer() view returns (int256)',
  'function latestRoundData() view returns (uint80, int256, uint256, uint256, uint80)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
])

type Name = (typeof abi)[number]['name']

const FEED_DECIMALS = 8
/** What the tokens that are not followed are said to have; nobody checks it. */
const OTHER_SUPPLY = 10n ** 27n

const at = benchAddresses
const file = benchEcosystem([])
const contracts: ReadonlySet<string> = new Set(
  eventKinds.map((kind) => kind.address).concat(at.weth),
)

/** The code of an address: some where the ecosystem has a contract, else none. */
export function codeAnswer(address: string): Hex {
  return contracts.has(address.toLowerCase()) ? '0x6080' : '0x'
}

/** What a contract answers at a block; undefined where the call reverts. */
export function callAnswer(
  chain: SyntheticChain,
  call: { readonly to: string; readonly data: Hex },
  block: number,
): Hex | undefined {
  const asked = decode(call.data)
  if (asked === undefined) return undefined
  const to = call.to.toLowerCase()
  const [first] = asked.args
  const result =
    to === at.gravePair || to === at.cryptPair
      ? pairResult(chain, to === at.gravePair ? 'grave' : 'crypt', asked.name)
      : to === at.feed
        ? feedResult(chain, asked.name)
        : tokenResult(chain, { address: to, name: asked.name, owner: String(first), block })
  if (result === undefined) return undefined
  return encodeFunctionResult({ abi, functionName: asked.name, result: result as never })
}

function decode(data: Hex): { readonly name: Name; readonly args: readonly unknown[] } | undefined {
  try {
    const { functionName, args } = decodeFunctionData({ abi, data })
    return { name: functionName, args: args ?? [] }
  } catch {
    return undefined
  }
}

function pairResult(chain: SyntheticChain, pair: 'grave' | 'crypt', name: Name): unknown {
  const tokens = [at[pair], at.weth].sort()
  if (name === 'token0') return tokens[0]
  if (name === 'token1') return tokens[1]
  if (name === 'getReserves') return [...chain.life.reserves[pair], 0]
  return name === 'decimals' ? 18 : undefined
}

function feedResult({ life, blocks }: SyntheticChain, name: Name): unknown {
  const answer = BigInt(life.answer)
  const time = BigInt(blocks.timeOf(blocks.head))
  if (name === 'decimals') return FEED_DECIMALS
  if (name === 'latestAnswer') return answer
  return name === 'latestRoundData' ? [1n, answer, time, time, 1n] : undefined
}

function tokenResult(
  chain: SyntheticChain,
  call: {
    readonly address: string
    readonly name: Name
    readonly owner: string
    readonly block: number
  },
): unknown {
  const token = file.tokens.find(
    (each) => each.addresses[benchChain.name]?.toLowerCase() === call.address,
  )
  if (token === undefined) return undefined
  switch (call.name) {
    case 'decimals':
      return token.decimals
    case 'symbol':
      return token.symbol
    case 'name':
      return token.name
    case 'version':
      return file.payment.domain.version
    case 'DOMAIN_SEPARATOR':
      return call.address === at.usdc ? domainSeparator() : undefined
    case 'totalSupply':
      return supplyAt(chain, call.address, call.block)
    case 'balanceOf':
      return balanceAt(chain, call)
    default:
      return undefined
  }
}

/** EIP-712. */
function domainSeparator(): Hex {
  const { name, version } = file.payment.domain
  const type = 'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'
  const words = [type, name, version].map((text) => keccak256(toHex(text)))
  const [typeHash = '0x', nameHash = '0x', versionHash = '0x'] = words
  return keccak256(
    encodeAbiParameters(parseAbiParameters('bytes32, bytes32, bytes32, uint256, address'), [
      typeHash,
      nameHash,
      versionHash,
      BigInt(benchChain.id),
      at.usdc,
    ]),
  )
}

function lifeOf({ life }: SyntheticChain, address: string) {
  if (address === at.grave) return { token: life.grave, kind: KIND.graveTransfer }
  if (address === at.crypt) return { token: life.crypt, kind: KIND.cryptTransfer }
  return undefined
}

function supplyAt(chain: SyntheticChain, address: string, block: number): bigint {
  const known = lifeOf(chain, address)
  if (known === undefined) return OTHER_SUPPLY
  const now = known.token.minted - known.token.burnedToZero
  return now + movedAfter(chain, { kind: known.kind, address: at.zero, block })
}

function balanceAt(
  chain: SyntheticChain,
  call: { readonly address: string; readonly owner: string; readonly block: number },
): bigint {
  const known = lifeOf(chain, call.address)
  const index = chain.accounts.indexOf(call.owner)
  if (known === undefined || index === undefined || index === chain.accounts.zero) return 0n
  const { kind } = known
  const moved = movedAfter(chain, { kind, address: call.owner.toLowerCase(), block: call.block })
  return known.token.balanceOf(index) - moved
}

/** What an address received less what it sent in the blocks above one. */
function movedAfter(
  { blocks, logs }: SyntheticChain,
  input: { readonly kind: number; readonly address: string; readonly block: number },
): bigint {
  const kind = eventKinds[input.kind]
  const digits = input.address.slice(2)
  let moved = 0n
  for (let log = blocks.firstLog(input.block + 1); log < logs.count; log += 1) {
    if (kind === undefined || logs.kindNumber(log) !== input.kind) continue
    const sent = logs.text(log, topicStart(1) + 24, 40) === digits
    const received = logs.text(log, topicStart(2) + 24, 40) === digits
    if (sent === received) continue
    const amount = BigInt(`0x${logs.text(log, dataStart(kind), 64)}`)
    moved += received ? amount : -amount
  }
  return moved
}
