import type { ChainSource, SourceLog } from '#chains/chain/chain-source.ts'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import type { EventSource } from '#chains/ecosystem/event-source.ts'
import { mappingsOf } from '#chains/indexer/mappings.ts'
import { countTopics, nameOfTopic } from '#chains/indexer/name-of-topic.ts'
import { parseAddress, parseHash, showAddress, ZERO_ADDRESS } from '#domain/address.ts'
import { isObject } from '#lib/json.ts'
import type { Clock } from '#lib/time.ts'
import { filterOf, openSources } from './check-file.ts'
import { oneLine, SetupError } from './discover/chain-view.ts'
import { findEmitters } from './find-emitters.ts'
import { openNode } from './node.ts'
import { describeRow, type ReadLog, readMapping, whyNotRead } from './read-mapping.ts'
import { scanBack } from './scan-back.ts'

export interface ExplainedLog {
  readonly block: number
  readonly txHash: string
  readonly logIndex: number
  /** Arguments as decoded; empty if the log does not fit the event. */
  readonly args: Readonly<Record<string, string>>
  readonly outcome: string
}

export interface Explained {
  readonly mapping: string
  readonly chain: string
  readonly address: string
  readonly event: string
  readonly from: number
  readonly to: number
  readonly logs: readonly ExplainedLog[]
  /** Events of the contract among the newest logs, with counts; given when nothing matches. */
  readonly emitted: Readonly<Record<string, number>>
}

export interface ExplainRequest {
  readonly ecosystem: Ecosystem
  readonly mapping: string
  readonly tx?: string | undefined
}

const LOGS = 5
const BUDGET_MS = 30_000
const SAMPLE = 200

/** The last five logs that a mapping matches, and what becomes of each. Throws SetupError. */
export async function explainMapping(
  { clock }: { readonly clock: Clock },
  { ecosystem, mapping, tx }: ExplainRequest,
): Promise<Explained> {
  const mappings = mappingsOf(ecosystem)
  const found = mappings.find(({ name }) => name === mapping)
  if (found === undefined)
    throw new SetupError(
      `unknown mapping "${mapping}"; known: ${mappings.map(({ name }) => name).join(', ')}`,
    )
  const { source } = found
  const chain = openSources(ecosystem)(source.chain)
  const common = {
    mapping,
    chain: source.chain.name,
    address: showAddress(source.address),
    event: source.event.name,
  }
  const head = await chain.header('latest')
  const to = head?.number ?? source.chain.startBlock
  const scan = { from: source.chain.startBlock, to, untilMs: clock() + BUDGET_MS }
  const deps = { source: chain, clock }
  const addresses = await findEmitters(deps, source, scan)
  if (tx !== undefined) {
    const logs = await logsOfTransaction(chain, source, tx)
    const blocks = logs.map(({ blockNumber }) => blockNumber)
    const explained = logs.map((log) => explainLog({ ecosystem, chain, source }, log))
    const [block = 0] = blocks
    return { ...common, from: block, to: block, logs: await Promise.all(explained), emitted: {} }
  }
  const filter = filterOf(source, addresses)
  const matched = await scanBack(deps, { ...scan, filter, enough: LOGS })
  const sample =
    matched.logs.length > 0
      ? []
      : (
          await scanBack(deps, {
            ...scan,
            filter: { addresses, topics: [] },
            enough: SAMPLE,
          })
        ).logs
  return {
    ...common,
    from: matched.from,
    to,
    logs: await Promise.all(
      matched.logs.slice(-LOGS).map((log) => explainLog({ ecosystem, chain, source }, log)),
    ),
    emitted: countTopics(sample),
  }
}

async function logsOfTransaction(
  chain: ChainSource,
  { address, made, topic0, chain: { name, rpcUrls } }: EventSource,
  tx: string,
): Promise<readonly SourceLog[]> {
  const hash = parseHash(tx)
  if (hash === undefined) throw new SetupError(`--tx: not a transaction hash: "${tx}"`)
  const receipt = await openNode(rpcUrls[0] ?? '').ask('eth_getTransactionReceipt', hash)
  if (!isObject(receipt))
    throw new SetupError(`--tx: the node of ${name} does not know ${hash}; is it of another chain?`)
  const block = Number(receipt.blockNumber)
  const filter =
    made === undefined
      ? { addresses: [address], topics: [] }
      : { addresses: [], topics: [[topic0]] }
  const all = await chain.logsInRange(filter, block, block)
  return all.filter(({ txHash }) => txHash === hash)
}

interface Explaining {
  readonly ecosystem: Ecosystem
  readonly chain: ChainSource
  readonly source: EventSource
}

async function explainLog(
  { ecosystem, chain, source }: Explaining,
  log: SourceLog,
): Promise<ExplainedLog> {
  const { blockNumber: block, txHash, logIndex } = log
  const place = { block, txHash, logIndex }
  if (log.topics[0] !== source.topic0)
    return {
      ...place,
      args: {},
      outcome: `another event: ${nameOfTopic(log.topics[0] ?? 'no topic')}`,
    }
  const read = await readMapping(chain, source, log)
  const args =
    read.kind === 'left-out'
      ? {}
      : Object.fromEntries(
          Object.entries(read.args).map(([name, value]) => [name, oneLine(String(value))]),
        )
  return { ...place, args, outcome: outcomeOf(ecosystem, source, { log, read, args }) }
}

function outcomeOf(
  ecosystem: Ecosystem,
  source: EventSource,
  { log, read, args }: { log: SourceLog; read: ReadLog; args: ExplainedLog['args'] },
): string {
  if (read.kind === 'left-out')
    return read.by === 'where'
      ? whyLeftOut(source, log)
      : `left out: ${source.code?.file} makes no row of it`
  if (read.kind !== 'rows') return whyNotRead(read)
  const told = read.rows.map((row) => describeRow(ecosystem, row))
  if (source.code === undefined) return `${told.join()}${whyBurned(ecosystem, source, args)}`
  const rows = told.map((row, index) => `row ${index} of ${source.code?.file}: ${row}`)
  return rows.join('\n  ')
}

function whyBurned(
  { burnAddresses }: Ecosystem,
  { facts }: EventSource,
  args: ExplainedLog['args'],
): string {
  const receiver = parseAddress(typeof facts.to === 'string' ? (args[facts.to] ?? '') : '')
  if (receiver === ZERO_ADDRESS) return `; ${facts.to} is the zero address`
  const place = receiver === undefined ? -1 : burnAddresses.indexOf(receiver)
  return place < 0 ? '' : `; ${facts.to} is supply.burnAddresses[${place}]`
}

function whyLeftOut({ made, where, whereNot }: EventSource, log: SourceLog): string {
  if (made?.found.counts(log.address, log.blockNumber) === false)
    return `left out: ${showAddress(log.address)} is none of the newest contracts that the factory made`
  const listed = (values: ReadonlySet<string>) => [...values].join(', ')
  const wanted = [
    ...[...where].map(([name, values]) => `${name} is one of ${listed(values)}`),
    ...[...whereNot].map(([name, values]) => `${name} is none of ${listed(values)}`),
  ]
  return `left out: counted only where ${wanted.join(' and ')}`
}
