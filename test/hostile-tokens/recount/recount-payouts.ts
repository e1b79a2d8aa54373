import { accounts, addresses, type ChainName } from '#devnet/addresses.ts'
import { payer, type WorldPlan } from '../world-plan.ts'
import {
  addressIn,
  type CanonicalBlock,
  type CanonicalChain,
  type CanonicalLog,
  readTransfer,
  wordOf,
} from './canonical-chain.ts'

export interface RecountedPayout {
  readonly block: CanonicalBlock
  readonly place: number
  readonly kind: 'claim' | 'distribution'
  readonly token: string
  readonly account: string | null
  readonly amount: bigint
}

/** keccak256 of `DividendClaimed(address,address,uint256)` and `DividendDistributed(address,uint256)`. */
const CLAIMED = '0xf672323216d71b2d59f826d5cc49657006c38667b59ae06ec262b9f71bed64fb'
const DISTRIBUTED = '0x84fcdd4a7f507f2206dd50958e7473061bf941f91791c6ffaf74033a07c82f12'

/** Claims and distributions of one chain; the first mapping of the file that matches wins. */
export function recountPayouts(
  { name, blocks }: CanonicalChain,
  plan: WorldPlan,
): readonly RecountedPayout[] {
  const found: RecountedPayout[] = []
  for (const block of blocks)
    for (const [place, log] of block.logs.entries()) {
      const payout = ofDistributor(name, log) ?? ofTransfer(name, log, plan)
      if (payout !== undefined && payout.amount > 0n) found.push({ block, place, ...payout })
    }
  return found
}

type Payout = Omit<RecountedPayout, 'block' | 'place'>

function ofDistributor(chain: ChainName, log: CanonicalLog): Payout | undefined {
  if (!isAt(log, addresses[chain].distributor)) return undefined
  const [event, first = '', second = ''] = log.topics
  const isClaim = event === CLAIMED
  if (!isClaim && event !== DISTRIBUTED) return undefined
  const token = symbolAt(chain, addressIn(isClaim ? second : first))
  if (token === undefined) return undefined
  const account = isClaim ? addressIn(first) : null
  return { kind: isClaim ? 'claim' : 'distribution', token, account, amount: wordOf(log, 0) }
}

function symbolAt(chain: ChainName, address: string): string | undefined {
  const { grave, crypt, usdc, weth } = addresses[chain]
  const listed = { GRAVE: grave, CRYPT: crypt, USDC: usdc, WETH: weth }
  return Object.entries(listed).find(([, each]) => each.toLowerCase() === address)?.[0]
}

function ofTransfer(
  chain: ChainName,
  log: CanonicalLog,
  { isPayerFirst, features }: WorldPlan,
): Payout | undefined {
  if (!features.has('payouts')) return undefined
  const { grave, usdc } = addresses[chain]
  const inDollars = readTransfer(log, usdc)
  if (inDollars?.from === lower(payer))
    return { kind: 'claim', token: 'USDC', account: inDollars.to, amount: inDollars.amount }
  const transfer = readTransfer(log, grave)
  if (transfer === undefined) return undefined
  const isPayers = transfer.from === lower(payer)
  const isToTreasury = transfer.to === lower(accounts.treasury)
  if (!isPayers && !isToTreasury) return undefined
  const isClaim = isPayers && (isPayerFirst || !isToTreasury)
  const { to: account, amount } = transfer
  return { kind: isClaim ? 'claim' : 'distribution', token: 'GRAVE', account, amount }
}

function isAt(log: CanonicalLog, address: string): boolean {
  return log.address.toLowerCase() === lower(address)
}

function lower(address: string): string {
  return address.toLowerCase()
}
