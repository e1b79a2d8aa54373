import { parseAbi, toEventSelector } from 'viem'
import { benchAddresses as at } from './bench-ecosystem.ts'

type Hex = `0x${string}`

/** One event of one contract of the made-up chain. */
export interface EventKind {
  readonly name: KindName
  readonly address: Hex
  readonly topic0: Hex
  /** Topics with topic 0. */
  readonly topics: number
}

const abi = parseAbi([
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event DividendClaimed(address indexed account, address indexed token, uint256 amount)',
  'event DividendDistributed(address indexed token, uint256 amount)',
  'event GraveDug(address indexed digger, uint256 indexed graveId, uint256 amount)',
  'event Sync(uint112 reserve0, uint112 reserve1)',
  'event AnswerUpdated(int256 indexed current, uint256 indexed roundId, uint256 updatedAt)',
])

const events = {
  grave: [at.grave, 'Transfer'],
  crypt: [at.crypt, 'Transfer'],
  claim: [at.distributor, 'DividendClaimed'],
  distribution: [at.distributor, 'DividendDistributed'],
  dig: [at.graveyard, 'GraveDug'],
  graveSync: [at.gravePair, 'Sync'],
  cryptSync: [at.cryptPair, 'Sync'],
  answer: [at.feed, 'AnswerUpdated'],
  payment: [at.usdc, 'Transfer'],
  /** USDC between strangers: a filter for payments must exclude it. */
  noise: [at.usdc, 'Transfer'],
} as const satisfies Record<string, readonly [Hex, (typeof abi)[number]['name']]>

export type KindName = keyof typeof events

export const eventKinds: readonly EventKind[] = Object.entries(events).map(
  ([name, [address, event]]) => {
    const item = abi.find((each) => each.name === event)
    if (item === undefined) throw new RangeError(`the ABI has no event ${event}`)
    const indexed = item.inputs.filter((input) => 'indexed' in input).length
    return { name: name as KindName, address, topic0: toEventSelector(item), topics: indexed + 1 }
  },
)

/** What an index of the ecosystem asks for without looking at arguments: all transfers of USDC are left out. */
export const wantedFilter = {
  address: [...new Set(eventKinds.map((kind) => kind.address))].filter((each) => each !== at.usdc),
  topics: [[...new Set(eventKinds.map((kind) => kind.topic0))]],
}
