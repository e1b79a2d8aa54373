import { parseAbi, toEventSelector } from 'viem'
import { benchAddresses } from './bench-ecosystem.ts'

type Hex = `0x${string}`

/** One event of one contract of the made-up chain. */
export interface EventKind {
  readonly name: string
  readonly address: Hex
  readonly topic0: Hex
  /** Topics with topic 0, and 32-byte words of data. */
  readonly topics: number
  readonly words: number
}

const abi = parseAbi([
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event DividendClaimed(address indexed account, address indexed token, uint256 amount)',
  'event DividendDistributed(address indexed token, uint256 amount)',
  'event GraveDug(address indexed digger, uint256 indexed graveId, uint256 amount)',
  'event Sync(uint112 reserve0, uint112 reserve1)',
  'event AnswerUpdated(int256 indexed current, uint256 indexed roundId, uint256 updatedAt)',
])

/** Kinds by number: what the chain stores of a log beside its bytes. */
export const KIND = {
  graveTransfer: 0,
  cryptTransfer: 1,
  claim: 2,
  distribution: 3,
  dig: 4,
  graveSync: 5,
  cryptSync: 6,
  answer: 7,
  payment: 8,
  noise: 9,
} as const

const at = benchAddresses

/** The kinds in the order of their numbers. */
export const eventKinds: readonly EventKind[] = [
  kind('graveTransfer', at.grave, 'Transfer'),
  kind('cryptTransfer', at.crypt, 'Transfer'),
  kind('claim', at.distributor, 'DividendClaimed'),
  kind('distribution', at.distributor, 'DividendDistributed'),
  kind('dig', at.graveyard, 'GraveDug'),
  kind('graveSync', at.gravePair, 'Sync'),
  kind('cryptSync', at.cryptPair, 'Sync'),
  kind('answer', at.feed, 'AnswerUpdated'),
  kind('payment', at.usdc, 'Transfer'),
  kind('noise', at.usdc, 'Transfer'),
]

/** What an index of the ecosystem asks for without looking at arguments: all but payments. */
export const wantedKinds: readonly EventKind[] = eventKinds.slice(0, KIND.payment)

function kind(name: string, address: Hex, event: (typeof abi)[number]['name']): EventKind {
  const item = abi.find((each) => each.name === event)
  if (item === undefined) throw new RangeError(`there is no event ${event}`)
  const indexed = item.inputs.filter((input) => 'indexed' in input).length
  const words = item.inputs.length - indexed
  return { name, address, topic0: toEventSelector(item), topics: indexed + 1, words }
}

const ADDRESS_START = '{"address":"0x'.length
const TOPICS_START = ADDRESS_START + 40 + '","topics":["0x'.length
const TOPIC_STEP = 64 + '","0x'.length

/** Where the 64 digits of a topic begin in a log's JSON. */
export function topicStart(position: number): number {
  return TOPICS_START + position * TOPIC_STEP
}

/** Where the digits of the data begin in a log's JSON. */
export function dataStart({ topics }: EventKind): number {
  return topicStart(topics - 1) + 64 + '"],"data":"0x'.length
}

/** A log's JSON up to the end of its data; arguments are zeros. */
export function logHead({ address, topic0, topics, words }: EventKind): string {
  const others = Array.from({ length: topics - 1 }, () => `0x${'0'.repeat(64)}`)
  const list = [topic0, ...others].map((each) => `"${each}"`).join(',')
  return `{"address":"${address}","topics":[${list}],"data":"0x${'0'.repeat(64 * words)}"`
}
