import { type Address, type Hash, ZERO_ADDRESS } from '#domain/address.ts'
import { TRANSFER_TOPIC } from '#domain/token.ts'
import { scanBack } from '../scan-back.ts'
import type { ChainView } from './chain-view.ts'

const DEAD_ADDRESSES: readonly Address[] = [
  '0x000000000000000000000000000000000000dead',
  '0xdead000000000000000042069420694206942069',
  '0x0000000000000000000000000000000000000001',
]

export interface BurnHabit {
  readonly to: Address
  readonly count: number
  readonly lastBlock: number
  readonly from: number
  readonly until: number
}

const BUDGET_MS = 20_000
const LOGS_MAX = 20_000

/** Transfers of the token to zero and to the usual dead addresses, as far back as time allows. */
export async function findBurns(
  view: ChainView,
  token: Address,
  firstBlock: number,
): Promise<readonly BurnHabit[]> {
  const receivers = [ZERO_ADDRESS, ...DEAD_ADDRESSES].map(toTopic)
  const { logs, from } = await scanBack(view, {
    filter: { addresses: [token], topics: [[TRANSFER_TOPIC], null, receivers] },
    from: firstBlock,
    to: view.headNumber,
    enough: LOGS_MAX,
    untilMs: view.clock() + BUDGET_MS,
  })
  return [ZERO_ADDRESS, ...DEAD_ADDRESSES].flatMap((to) => {
    const own = logs.filter((log) => log.topics[2] === toTopic(to))
    const last = own.at(-1)
    if (last === undefined) return []
    const { blockNumber: lastBlock } = last
    return [{ to, count: own.length, lastBlock, from, until: view.headNumber }]
  })
}

export function toTopic(address: Address): Hash {
  return `0x${address.slice(2).padStart(64, '0')}`
}

export function toAddress(word: string): Address {
  return `0x${word.slice(-40)}`
}
