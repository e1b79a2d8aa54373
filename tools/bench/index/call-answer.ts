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
import { benchAddresses as at, benchChain, benchEcosystem } from './bench-ecosystem.ts'
import { wordOf } from './chain-life.ts'
import { eventKinds } from './event-kinds.ts'
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

const FEED_DECIMALS = 8
/** What the tokens that are not followed are said to have; nobody checks it. */
const OTHER_SUPPLY = 10n ** 27n

const file = benchEcosystem([])

/** What a contract answers at a block; undefined where the call reverts. */
export function callAnswer(
  chain: SyntheticChain,
  call: { readonly to: Hex; readonly data?: Hex; readonly input?: Hex },
  block: number,
): Hex | undefined {
  const asked = decode(call.data ?? call.input ?? '0x')
  if (asked === undefined) return undefined
  const { functionName, args } = asked
  const to = call.to.toLowerCase()
  const owner = String(args?.[0]).toLowerCase()
  const result = {
    ...tokenResults(chain, { token: to, owner, block }),
    ...(to === at.gravePair && pairResults(chain, 'grave')),
    ...(to === at.cryptPair && pairResults(chain, 'crypt')),
    ...(to === at.feed && feedResults(chain)),
  }[functionName]
  if (result === undefined) return undefined
  const value = typeof result === 'function' ? result() : result
  return encodeFunctionResult({ abi, functionName, result: value as never })
}

function decode(data: Hex) {
  try {
    return decodeFunctionData({ abi, data })
  } catch {
    return undefined
  }
}

type Results = Readonly<Record<string, unknown>>

function pairResults({ life }: SyntheticChain, name: 'grave' | 'crypt'): Results {
  const [token0, token1] = [at[name], at.weth].sort()
  return { token0, token1, getReserves: [...life.reserves[name], 0], decimals: 18 }
}

function feedResults(chain: SyntheticChain): Results {
  const { answer } = chain.life
  const time = BigInt(chain.timeOf(chain.head))
  const latestRoundData = [1n, answer, time, time, 1n]
  return { decimals: FEED_DECIMALS, latestAnswer: answer, latestRoundData }
}

function tokenResults(chain: SyntheticChain, asked: Asked): Results {
  const address = ({ addresses }: (typeof file.tokens)[number]) => addresses[benchChain.name]
  const token = file.tokens.find((each) => address(each)?.toLowerCase() === asked.token)
  if (token === undefined) return {}
  const { decimals, symbol, name } = token
  return {
    ...{ decimals, symbol, name, version: file.payment.domain.version },
    DOMAIN_SEPARATOR: asked.token === at.usdc ? domainSeparator() : undefined,
    totalSupply: () => supplyAt(chain, asked),
    balanceOf: () => balanceNow(chain, asked) - movedAfter(chain, asked),
  }
}

/** EIP-712. */
function domainSeparator(): Hex {
  const { name, version } = file.payment.domain
  const type = 'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'
  const hashOf = (text: string) => keccak256(toHex(text))
  return keccak256(
    encodeAbiParameters(parseAbiParameters('bytes32, bytes32, bytes32, uint256, address'), [
      ...([hashOf(type), hashOf(name), hashOf(version)] as const),
      BigInt(benchChain.id),
      at.usdc,
    ]),
  )
}

interface Asked {
  readonly token: string
  readonly owner: string
  readonly block: number
}

function lifeOf({ life }: SyntheticChain, token: string) {
  if (token === at.grave) return life.tokens.grave
  return token === at.crypt ? life.tokens.crypt : undefined
}

function supplyAt(chain: SyntheticChain, asked: Asked): bigint {
  const supply = lifeOf(chain, asked.token)?.supply
  if (supply === undefined) return OTHER_SUPPLY
  return supply + movedAfter(chain, { ...asked, owner: at.zero })
}

function balanceNow(chain: SyntheticChain, { token, owner }: Asked): bigint {
  if (token === at.usdc) return owner === at.payTo ? chain.life.sums.payment : 0n
  const life = lifeOf(chain, token)
  if (owner === at.dead) return life?.dead ?? 0n
  return life?.balances[chain.life.holders.get(wordOf(owner)) ?? -1] ?? 0n
}

/** What an address received less what it sent in the blocks above one; of USDC only payments count. */
function movedAfter(chain: SyntheticChain, { token, owner, block }: Asked): bigint {
  const { logs } = chain
  const word = `0x${wordOf(owner)}`
  let moved = 0n
  for (let log = chain.firstLog(block + 1); log < logs.count; log += 1) {
    if (eventKinds[logs.kindOf(log)]?.address !== token) continue
    const { topics, data } = JSON.parse(logs.read([[log, log]]).toString('latin1'))
    if (topics[2] === word) moved += BigInt(data)
    if (topics[1] === word && token !== at.usdc) moved -= BigInt(data)
  }
  return moved
}
