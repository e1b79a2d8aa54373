import { decode } from 'ox/AbiEvent'
import type { SourceLog } from '#chains/chain/chain-source.ts'
import { type Address, type Hash, parseAddress } from '#domain/address.ts'
import { TRANSFER_TOPIC } from '#domain/token.ts'
import { isObject } from '#lib/json.ts'
import { scanBack } from '../scan-back.ts'
import { toTopic } from './burn-habits.ts'
import type { ChainView } from './chain-view.ts'
import { declare, eventsByTopic, type Known } from './known-events.ts'

export interface Payout {
  readonly address: Address
  readonly topic0: Hash
  readonly known: Known
  /** Has `indexed` where the contract has it. */
  readonly event: string
  /** Tokens that it moves, as its argument or the transfers of its transactions show. */
  readonly tokens: readonly Address[]
  readonly count: number
  readonly lastBlock: number
  readonly from: number
  readonly until: number
}

const BUDGET_MS = 20_000
const LOGS_MAX = 2_000
const SAMPLES = 3

export async function findPayouts(
  view: ChainView,
  contracts: readonly Address[],
  firstBlock: number,
): Promise<readonly Payout[]> {
  const { logs, from } = await scanBack(view, {
    filter: { addresses: contracts, topics: [[...eventsByTopic.keys()]] },
    from: firstBlock,
    to: view.headNumber,
    enough: LOGS_MAX,
    untilMs: view.clock() + BUDGET_MS,
  })
  const groups = Map.groupBy(logs, (log) => `${log.address} ${log.topics[0]} ${log.topics.length}`)
  const found = await Promise.all([...groups.values()].map((each) => toPayout(view, each)))
  return found
    .filter((each) => each !== undefined)
    .map((each) => ({ ...each, from, until: view.headNumber }))
    .sort((a, b) => b.count - a.count)
}

async function toPayout(view: ChainView, logs: readonly SourceLog[]) {
  const last = logs.at(-1)
  const topic0 = last?.topics[0] ?? '0x'
  const known = eventsByTopic.get(topic0)
  if (last === undefined || known === undefined) return undefined
  const { text: event } = declare(known, last.topics)
  const samples = logs.map((log) => argumentsOf(known, log)).filter((each) => each !== undefined)
  // Another layout than the usual one would show wrong addresses and amounts.
  if (samples.length < logs.length) return undefined
  const { address, blockNumber: lastBlock } = last
  const tokens = await tokensOf(view, { known, samples, logs })
  return { address, topic0, known, event, tokens, count: logs.length, lastBlock }
}

function argumentsOf(known: Known, log: SourceLog) {
  try {
    const { event } = declare(known, log.topics)
    const [topic0 = '0x', ...rest] = log.topics
    const args: unknown = decode(event, { topics: [topic0, ...rest], data: log.data })
    return isObject(args) ? args : undefined
  } catch {
    return undefined
  }
}

async function tokensOf(
  view: ChainView,
  input: {
    readonly known: Known
    readonly samples: readonly Readonly<Record<string, unknown>>[]
    readonly logs: readonly SourceLog[]
  },
): Promise<readonly Address[]> {
  const { known, samples, logs } = input
  const named = known.mapping.tokenArgument
  if (named !== undefined)
    return unique(samples.map((args) => parseAddress(String(args[named]).toLowerCase())))
  const paid = await Promise.all(logs.slice(-SAMPLES).map((log) => tokenPaid(view, known, log)))
  return unique(paid)
}

async function tokenPaid({ node }: ChainView, known: Known, log: SourceLog) {
  const amount = argumentsOf(known, log)?.[known.mapping.amount]
  const receipt = await node.ask('eth_getTransactionReceipt', log.txHash)
  const all = isObject(receipt) && Array.isArray(receipt.logs) ? receipt.logs : []
  const transferAt = (place: 1 | 2) =>
    all.find(
      (each) =>
        isObject(each) &&
        Array.isArray(each.topics) &&
        each.topics[0] === TRANSFER_TOPIC &&
        each.topics[place] === toTopic(log.address) &&
        BigInt(String(each.data)) === amount,
    )
  // What the contract pays out, else what is put into it.
  const transfer = transferAt(1) ?? transferAt(2)
  return transfer && parseAddress(String(transfer.address).toLowerCase())
}

function unique(addresses: readonly (Address | undefined)[]): readonly Address[] {
  return [...new Set(addresses.filter((each) => each !== undefined))]
}
