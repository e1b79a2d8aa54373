import {
  type Address,
  encodeAbiParameters,
  type Hex,
  pad,
  parseAbi,
  parseAbiParameters,
  toEventSelector,
  toHex,
} from 'viem'
import type { LogPlan } from '#test/chain-builder/built-chain.ts'
import type { BridgeEvent } from './bridges.ts'

/** `Transfer(address,address,uint256)`, whichever of its arguments are indexed. */
export const TRANSFER = toEventSelector(
  'event Transfer(address indexed from, address indexed to, uint256 value)',
)

interface Move {
  readonly token: Address
  readonly from: Address
  readonly to: Address
  readonly amount: bigint
}

/** A transfer without indexed arguments, as a few early tokens emit it. */
export function unindexedTransfer({ token, from, to, amount }: Move): LogPlan {
  const data = encodeAbiParameters(parseAbiParameters('address, address, uint256'), [
    from,
    to,
    amount,
  ])
  return { address: lower(token), topics: [TRANSFER], data }
}

/** A transfer whose arguments are all indexed, as of ERC-721. */
export function indexedTransfer({ token, from, to, amount }: Move): LogPlan {
  const topics = [TRANSFER, pad(from), pad(to), toHex(amount, { size: 32 })]
  return { address: lower(token), topics: topics.map(lower), data: '0x' }
}

/** An event of a listed bridge. */
export function bridgeLog(bridge: BridgeEvent, { token, from, to, amount }: Move): LogPlan {
  const selector = toEventSelector(parseAbi([bridge.event])[0])
  const isOwn = bridge.address === token
  const topics = isOwn ? [pad(from), pad(to)] : [pad(token), pad(token), pad(from)]
  const data = isOwn
    ? toHex(amount, { size: 32 })
    : encodeAbiParameters(parseAbiParameters('address, uint256, bytes'), [to, amount, '0x1234'])
  return {
    address: lower(bridge.address),
    topics: [selector, ...topics].map(lower),
    data,
  }
}

function lower<Text extends Hex>(text: Text): Text {
  return text.toLowerCase() as Text
}
