import type { SourceLog } from '#chains/chain/chain-source.ts'
import { parseReceiptLogs } from '#chains/chain/parse-rpc.ts'
import { type Address, type Hash, ZERO_ADDRESS } from '#domain/address.ts'
import { TRANSFER_TOPIC } from '#domain/token.ts'
import { scanBack } from '../scan-back.ts'
import { toTopic } from './burn-habits.ts'
import type { ChainView } from './chain-view.ts'
import { bridgeEvents, type KnownBridgeEvent } from './known-bridges.ts'
import { eventsByTopic } from './known-events.ts'

/** An event that occurs with mints or burns of the token, with their amount. */
export interface FoundBridge {
  readonly address: Address
  readonly topic0: Hash
  /** Undefined for an event that no table knows: the contract may do something else. */
  readonly known: KnownBridgeEvent | undefined
  readonly kind: 'mint' | 'burn'
  readonly beside: number
  /** Mints or burns in transactions in which the contract emits anything. */
  readonly of: number
  readonly from: number
  readonly until: number
}

const BUDGET_MS = 20_000

/** Transactions looked at, of mints and of burns each: one costs a request. */
const MOVES_MAX = 40

/** Fewer may be chance. */
const BESIDE_MIN = 3

/** Events of other contracts beside at least three of the newest mints or burns, and half of theirs. */
export async function findBridges(
  view: ChainView,
  token: Address,
  firstBlock: number,
): Promise<readonly FoundBridge[]> {
  const zero = [toTopic(ZERO_ADDRESS)]
  const found = await Promise.all([
    besideMoves(view, { token, firstBlock, kind: 'mint', topics: [[TRANSFER_TOPIC], zero] }),
    besideMoves(view, { token, firstBlock, kind: 'burn', topics: [[TRANSFER_TOPIC], null, zero] }),
  ])
  return found.flat()
}

interface Moves {
  readonly token: Address
  readonly firstBlock: number
  readonly kind: 'mint' | 'burn'
  readonly topics: readonly (readonly Hash[] | null)[]
}

async function besideMoves(
  view: ChainView,
  { token, firstBlock, kind, topics }: Moves,
): Promise<readonly FoundBridge[]> {
  const { logs } = await scanBack(view, {
    filter: { addresses: [token], topics },
    from: firstBlock,
    to: view.headNumber,
    enough: MOVES_MAX,
    untilMs: view.clock() + BUDGET_MS,
  })
  const moves = logs.slice(-MOVES_MAX).filter(({ data }) => data.length === 66 && BigInt(data) > 0n)
  const transactions = await Promise.all(
    [...Map.groupBy(moves, ({ txHash }) => txHash)].map(async ([hash, own]) => ({
      own,
      others: (await logsOf(view, hash)).filter(
        ({ topics: [topic0] }) => topic0 !== TRANSFER_TOPIC,
      ),
    })),
  )
  const candidates = transactions.flatMap(({ own, others }) =>
    others.filter((log) => own.some((move) => states(log, move, token))),
  )
  const [from = 0, until = 0] = [moves[0]?.blockNumber, moves.at(-1)?.blockNumber]
  const counted = [...Map.groupBy(candidates, keyOf).values()].flatMap(([log]) => {
    if (log === undefined) return []
    const {
      address,
      topics: [topic0 = '0x'],
    } = log
    const { beside, of } = count(transactions, log, token)
    const known = bridgeEvents.get(topic0)
    return [{ address, topic0, known, kind, beside, of, from, until }]
  })
  return clearest(counted.filter(({ beside, of }) => beside >= BESIDE_MIN && beside * 2 >= of))
}

async function logsOf({ node, id }: ChainView, hash: Hash): Promise<readonly SourceLog[]> {
  const receipt = await node.ask('eth_getTransactionReceipt', hash)
  return receipt === null ? [] : parseReceiptLogs([receipt], id)
}

function keyOf({ address, topics }: SourceLog): string {
  return `${address} ${topics[0]}`
}

/** Neither payouts nor events of the token itself are taken for a bridge's, unless they are known ones. */
function states(log: SourceLog, move: SourceLog, token: Address): boolean {
  const [topic0 = '0x', ...indexed] = log.topics
  const isKnown = bridgeEvents.has(topic0)
  if (!isKnown && (log.address === token || eventsByTopic.has(topic0))) return false
  const words = [
    ...indexed,
    ...(log.data.slice(2).match(/.{64}/g) ?? []).map((word) => `0x${word}`),
  ]
  return words.includes(move.data)
}

function count(
  transactions: readonly {
    readonly own: readonly SourceLog[]
    readonly others: readonly SourceLog[]
  }[],
  { address, topics: [topic0] }: SourceLog,
  token: Address,
) {
  let [beside, of] = [0, 0]
  for (const { own, others } of transactions) {
    const its = others.filter((log) => log.address === address)
    if (its.length === 0) continue
    of += own.length
    const same = its.filter((log) => log.topics[0] === topic0)
    beside += own.filter((move) => same.some((log) => states(log, move, token))).length
  }
  return { beside, of }
}

/** One event per contract, as each takes a mint or burn of its own: a known one before others. */
function clearest(found: readonly FoundBridge[]): readonly FoundBridge[] {
  return [...Map.groupBy(found, ({ address }) => address).values()].flatMap((same) => {
    const rank = ({ known, beside }: FoundBridge) => (known === undefined ? 0 : 1_000) + beside
    return same.toSorted((a, b) => rank(b) - rank(a)).slice(0, 1)
  })
}
