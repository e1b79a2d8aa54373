import type { Address } from 'viem'
import { addresses, type ChainName } from '#devnet/addresses.ts'

/** An event that tells a bridged mint or burn from a new one. */
export interface BridgeEvent {
  readonly chain: ChainName
  readonly token: 'GRAVE' | 'CRYPT'
  readonly address: Address
  /** Human-readable ABI, as in the ecosystem file. */
  readonly event: string
  /** Name of the argument, as in the ecosystem file. */
  readonly amount: string
  /** Place of the amount among the words of the data. */
  readonly amountWord: number
}

/** The standard bridge of OP-stack chains. */
export const standardBridge = '0x4200000000000000000000000000000000000010'

const FINALIZED =
  'event ERC20BridgeFinalized(address indexed localToken, address indexed remoteToken, address indexed from, address to, uint256 amount, bytes extraData)'
/** ERC-7802; emitted by the token. */
const CROSSCHAIN_BURN =
  'event CrosschainBurn(address indexed from, uint256 amount, address indexed sender)'
const CROSSCHAIN_MINT =
  'event CrosschainMint(address indexed to, uint256 amount, address indexed sender)'

/** GRAVE crosses by a bridge contract and by its own burn event, CRYPT by its own events only. */
export function bridgesOn(chain: ChainName): readonly BridgeEvent[] {
  const { grave, crypt } = addresses[chain]
  const own = { amount: 'amount', amountWord: 0, chain }
  return [
    { ...own, token: 'GRAVE', address: standardBridge, event: FINALIZED, amountWord: 1 },
    { ...own, token: 'GRAVE', address: grave, event: CROSSCHAIN_BURN },
    { ...own, token: 'CRYPT', address: crypt, event: CROSSCHAIN_MINT },
    { ...own, token: 'CRYPT', address: crypt, event: CROSSCHAIN_BURN },
  ]
}
