import {
  type Address,
  encodeAbiParameters,
  type Hex,
  keccak256,
  parseAbiParameters,
  toFunctionSelector,
  toHex,
} from 'viem'
import { type ChainName, chainIds, addresses as local } from '#devnet/addresses.ts'

const selectors = {
  decimals: toFunctionSelector('decimals()'),
  token0: toFunctionSelector('token0()'),
  token1: toFunctionSelector('token1()'),
  getReserves: toFunctionSelector('getReserves()'),
  domainSeparator: toFunctionSelector('DOMAIN_SEPARATOR()'),
} as const

/**
 * What the local ecosystem's contracts say of themselves, so that an indexer can prove its file
 * against a made-up chain; undefined where a contract has no such view.
 */
export function answerView(chainId: number, call: { to: Hex; data: Hex }): Hex | undefined {
  const name: ChainName = chainId === chainIds.base ? 'base' : 'ethereum'
  const to = call.to.toLowerCase()
  const isAt = (address: Address) => address.toLowerCase() === to
  const { usdc, weth, grave, crypt, ethUsdFeed } = local[name]
  const { gravePair, cryptPair } = local.base.market
  switch (call.data.slice(0, 10)) {
    case selectors.decimals:
      if (isAt(usdc)) return word(6n)
      return isAt(ethUsdFeed) ? word(8n) : word(18n)
    case selectors.token0:
      return isAt(gravePair) || isAt(cryptPair) ? addressWord(weth) : undefined
    case selectors.token1:
      return isAt(gravePair) || isAt(cryptPair)
        ? addressWord(isAt(gravePair) ? grave : crypt)
        : undefined
    case selectors.getReserves:
      return encodeAbiParameters(parseAbiParameters('uint112, uint112, uint32'), [1n, 1n, 1])
    case selectors.domainSeparator:
      return separatorOf(chainId, usdc)
    default:
      return undefined
  }
}

function word(number: bigint): Hex {
  return toHex(number, { size: 32 })
}

function addressWord(address: Address): Hex {
  return encodeAbiParameters(parseAbiParameters('address'), [address])
}

/** EIP-712's domain separator of USDC. */
function separatorOf(chainId: number, usdc: Address): Hex {
  const type = 'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'
  return keccak256(
    encodeAbiParameters(parseAbiParameters('bytes32, bytes32, bytes32, uint256, address'), [
      keccak256(toHex(type)),
      keccak256(toHex('USD Coin')),
      keccak256(toHex('2')),
      BigInt(chainId),
      usdc,
    ]),
  )
}
