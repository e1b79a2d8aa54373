import { decodeResult, encodeData, from } from 'ox/AbiFunction'
import { encode, from as parametersFrom } from 'ox/AbiParameters'
import { keccak256 } from 'ox/Hash'
import { fromString } from 'ox/Hex'
import type { ChainSource } from '#chains/chain/chain-source.ts'
import type { Address } from '#domain/address.ts'

export interface TokenDomain {
  readonly name: string
  readonly version: string
}

const DOMAIN_TYPE =
  'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'

export function separatorOf(
  { name, version }: TokenDomain,
  place: { readonly chainId: number; readonly asset: Address },
): string {
  return keccak256(
    encode(parametersFrom('bytes32, bytes32, bytes32, uint256, address'), [
      keccak256(fromString(DOMAIN_TYPE)),
      keccak256(fromString(name)),
      keccak256(fromString(version)),
      BigInt(place.chainId),
      place.asset,
    ]),
  )
}

/** Versions to try for tokens without `version()`. */
const USUAL_VERSIONS = ['1', '2'] as const

export async function findDomain(
  source: ChainSource,
  asset: Address,
  separator: string,
): Promise<TokenDomain | undefined> {
  const [name, version] = await Promise.all([
    readText(source, asset, 'name'),
    readText(source, asset, 'version'),
  ])
  if (name === undefined) return undefined
  const place = { chainId: source.chainId, asset }
  return [version, ...USUAL_VERSIONS]
    .flatMap((each) => (each === undefined ? [] : [{ name, version: each }]))
    .find((domain) => separatorOf(domain, place) === separator)
}

async function readText(source: ChainSource, asset: Address, name: 'name' | 'version') {
  const view = from(`function ${name}() view returns (string)`)
  try {
    return decodeResult(view, await source.call(asset, encodeData(view)))
  } catch {
    return undefined
  }
}
