import {
  type Address,
  type GetLogsReturnType,
  getAddress,
  type Log,
  type PublicClient,
  parseAbi,
  parseEventLogs,
} from 'viem'
import { addresses, type ChainName } from '#devnet/addresses.ts'
import type { ChainAt } from './chain-at.ts'
import { followed, localTokens, type Ticker, tokenOf } from './local-tokens.ts'
import { PRICE_ONE } from './price-scale.ts'

/** Where an event stands. Unix seconds of its block. */
export interface Place {
  readonly chain: ChainName
  readonly chainId: number
  readonly blockNumber: number
  readonly logIndex: number
  readonly txHash: string
  readonly unix: number
}

export interface Transfer extends Place {
  readonly token: Ticker
  readonly from: Address
  readonly to: Address
  readonly amount: bigint
}

export interface Payout extends Place {
  readonly kind: 'claim' | 'distribution'
  readonly token: Ticker
  readonly account: Address | null
  readonly amount: bigint
}

export interface Dig extends Place {
  readonly token: Ticker
  readonly digger: Address
  readonly graveId: string
  readonly amount: bigint
}

/** A price from a block on: quote units (or dollars, for the feed) per token, scaled by 10^18. */
export interface PriceMove extends Place {
  readonly token: Ticker
  readonly price: bigint
}

/** Every event of the ecosystem on a chain, in chain order. */
export interface ChainEvents {
  readonly transfers: readonly Transfer[]
  readonly payouts: readonly Payout[]
  readonly digs: readonly Dig[]
  readonly prices: readonly PriceMove[]
}

const abi = parseAbi([
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event DividendDistributed(address indexed token, uint256 amount)',
  'event DividendClaimed(address indexed account, address indexed token, uint256 amount)',
  'event GraveDug(address indexed digger, uint256 indexed graveId, uint256 amount)',
  'event AnswerUpdated(int256 indexed current, uint256 indexed roundId, uint256 updatedAt)',
  'event Sync(uint112 reserve0, uint112 reserve1)',
])

type EventLog = GetLogsReturnType<undefined, typeof abi, true, bigint, bigint>[number]

/** Reads all logs of a chain and the header of every block that has one. */
export async function readEvents(client: PublicClient, chain: ChainAt): Promise<ChainEvents> {
  const logs: EventLog[] = []
  for (let from = 0; from <= chain.blockNumber; from += blocksPerRange) {
    const toBlock = BigInt(Math.min(chain.blockNumber, from + blocksPerRange - 1))
    const fromBlock = BigInt(from)
    logs.push(...(await client.getLogs({ fromBlock, toBlock })).flatMap(decodeOnce))
  }
  const numbers = [...new Set(logs.map((log) => log.blockNumber))]
  const blocks = await Promise.all(numbers.map((blockNumber) => client.getBlock({ blockNumber })))
  const unixOf = new Map(blocks.map((block) => [block.number, Number(block.timestamp)]))
  const placed = logs.map((log) => ({ log, place: placeOf(chain, log, unixOf) }))
  return {
    transfers: placed.flatMap(readTransfer),
    payouts: placed.flatMap(readPayout),
    digs: placed.flatMap(readDig),
    prices: placed.flatMap(readPrice),
  }
}

/** By block and place: a chain is read again and again, and decoding costs more than reading. */
const decoded = new Map<string, readonly EventLog[]>()

function decodeOnce(log: Log<bigint, number, false>): readonly EventLog[] {
  const key = `${log.blockHash} ${log.logIndex}`
  const known =
    decoded.get(key) ?? (parseEventLogs({ abi, logs: [log], strict: true }) as EventLog[])
  decoded.set(key, known)
  return known
}

// viem refuses answers of more than 10 MB.
const blocksPerRange = 200

interface Placed {
  readonly log: EventLog
  readonly place: Place
}

function placeOf(chain: ChainAt, log: EventLog, unixOf: ReadonlyMap<bigint, number>): Place {
  const unix = unixOf.get(log.blockNumber)
  if (unix === undefined) throw new Error(`no header of block ${log.blockNumber}`)
  return {
    chain: chain.name,
    chainId: chain.id,
    blockNumber: Number(log.blockNumber),
    logIndex: log.logIndex,
    txHash: log.transactionHash,
    unix,
  }
}

function readTransfer({ log, place }: Placed): Transfer[] {
  if (log.eventName !== 'Transfer') return []
  const token = followed.find((symbol) => is(tokenOf(symbol).addresses[place.chain], log.address))
  if (token === undefined) return []
  const { from, to, value } = log.args
  return [{ ...place, token, from: lower(from), to: lower(to), amount: value }]
}

function readPayout({ log, place }: Placed): Payout[] {
  if (!is(addresses[place.chain].distributor, log.address)) return []
  if (log.eventName === 'DividendClaimed') {
    const { account, token, amount } = log.args
    const kind = 'claim'
    return [
      { ...place, kind, token: symbolOf(place.chain, token), account: lower(account), amount },
    ]
  }
  if (log.eventName !== 'DividendDistributed') return []
  const { token, amount } = log.args
  const kind = 'distribution'
  return [{ ...place, kind, token: symbolOf(place.chain, token), account: null, amount }]
}

function readDig({ log, place }: Placed): Dig[] {
  if (log.eventName !== 'GraveDug') return []
  if (!is(addresses[place.chain].graveyard, log.address)) return []
  const { digger, graveId, amount } = log.args
  return [{ ...place, token: 'GRAVE', digger: lower(digger), graveId: String(graveId), amount }]
}

/** The market and the feed that count are those of base. */
function readPrice({ log, place }: Placed): PriceMove[] {
  if (place.chain !== 'base') return []
  const { ethUsdFeed, market, weth } = addresses.base
  if (log.eventName === 'AnswerUpdated' && is(ethUsdFeed, log.address))
    return [{ ...place, token: 'WETH', price: (log.args.current * PRICE_ONE) / 10n ** 8n }]
  if (log.eventName !== 'Sync') return []
  const token = is(market.gravePair, log.address)
    ? 'GRAVE'
    : is(market.cryptPair, log.address)
      ? 'CRYPT'
      : undefined
  const { reserve0, reserve1 } = log.args
  if (token === undefined || reserve0 === 0n || reserve1 === 0n) return []
  const isFirst = BigInt(tokenOf(token).addresses.base) < BigInt(weth)
  const [own, ether] = isFirst ? [reserve0, reserve1] : [reserve1, reserve0]
  return [{ ...place, token, price: (ether * PRICE_ONE) / own }]
}

function symbolOf(chain: ChainName, address: Address): Ticker {
  const found = localTokens.find((each) => is(each.addresses[chain], address))
  if (found === undefined) throw new Error(`${getAddress(address)} is no token of ${chain}`)
  return found.symbol
}

function is(a: Address, b: Address): boolean {
  return lower(a) === lower(b)
}

function lower(address: Address): Address {
  return address.toLowerCase() as Address
}
