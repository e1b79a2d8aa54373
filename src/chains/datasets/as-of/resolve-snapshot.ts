import type { Chain, Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import {
  type AsOfSnapshot,
  finalBlock,
  type SnapshotBlock,
  statusAt,
  withinSnapshot,
} from '#chains/indexer/as-of-snapshot.ts'
import { storedUpTo } from '#chains/indexer/positions.ts'
import { type ChainStatus, conditionOf, type IndexStatus } from '#chains/indexer/status.ts'
import type { Refusal } from '#domain/refusal.ts'
import { type Clock, unixNow } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import { join, sql } from '#store/sql.ts'
import { PRICES } from '../dataset-names.ts'
import type { AsOfBlock } from '../meta.ts'
import { beforeAll, type Found, type FoundBlock, notReady } from './find-blocks.ts'

export interface ResolvedSnapshot {
  readonly snapshot: AsOfSnapshot
  /** The status as if the index stood at these blocks. */
  readonly status: IndexStatus
  readonly asOfUnix: number
  readonly blocks: readonly AsOfBlock[]
  readonly isFinal: boolean
  readonly boundTo: string
}

interface ResolveInput {
  readonly ecosystem: Ecosystem
  readonly clock: Clock
  readonly found: Found
  readonly status: IndexStatus
  readonly datasets: readonly string[]
}

/** Call in the snapshot that is read. Refuses what the register cannot answer for ever. */
export async function resolveSnapshot(
  connection: Connection,
  input: ResolveInput,
): Promise<ResolvedSnapshot | Refusal> {
  const { found, status } = input
  const { asOfUnix } = found
  const unready = await whyUnready(connection, input)
  if (unready !== undefined) return unready
  const snapshot = snapshotOf(found.blocks)
  if (snapshot.size === 0) return beforeAll(asOfUnix)
  const blocks: AsOfBlock[] = []
  for (const each of found.blocks) {
    const isFinal = await isFinalAt(connection, { ...input, snapshot, each })
    blocks.push({ chain: each.chain, block: each.block, isFinal })
  }
  return {
    snapshot,
    status: { ...statusAt(status, snapshot), asOfUnix },
    asOfUnix,
    blocks,
    isFinal: blocks.every(({ isFinal }) => isFinal),
    boundTo: JSON.stringify(blocks.map(({ chain, block }) => [chain.id, block?.hash])),
  }
}

function snapshotOf(blocks: readonly FoundBlock[]): AsOfSnapshot {
  const snapshot = new Map<number, SnapshotBlock>()
  for (const { chain, block } of blocks)
    if (block !== null) snapshot.set(chain.id, { number: block.number, unix: block.timestamp })
  return snapshot
}

async function whyUnready(
  connection: Connection,
  { clock, found, status, datasets }: ResolveInput,
): Promise<Refusal | undefined> {
  const needed = [...datasets, PRICES]
  for (const each of found.blocks) {
    const { name } = each.chain
    const now = chainOf(status, each.chain)
    const before = chainOf(found.status, each.chain)
    if (now === undefined || now.timesForgotten !== before?.timesForgotten)
      return notReady(`${name} is being read again.`)
    const { backfill } = now
    const isMissing =
      backfill !== null && (backfill.datasets?.some((own) => needed.includes(own)) ?? true)
    if (isMissing) return notReady(`The history of ${name} is still being read.`)
    const isShort = !each.isNamed && found.asOfUnix >= now.blockTimeUnix
    if (isShort && conditionOf(now, unixNow(clock)) === 'syncing')
      return notReady(`${name} has not been indexed up to that moment.`)
    if (!(await isOnChain(connection, now, each))) return notReady(`${name} has just reorganised.`)
  }
  return undefined
}

function chainOf(status: IndexStatus, chain: Chain): ChainStatus | undefined {
  return status.chains.find((each) => each.chain.id === chain.id)
}

/** Blocks that are not final may be replaced. */
async function isOnChain(
  connection: Connection,
  { chain, finalizedNumber }: ChainStatus,
  { block }: FoundBlock,
): Promise<boolean> {
  if (block === null || block.number <= finalizedNumber) return true
  const stored = await storedUpTo(connection, chain.id, { number: block.number })
  // Blocks older than the first final one are not stored.
  return stored === undefined || stored.hash === block.hash
}

/** Neither the block nor a dollar value that the chain's prices gave can change. */
async function isFinalAt(
  connection: Connection,
  input: ResolveInput & { readonly snapshot: AsOfSnapshot; readonly each: FoundBlock },
): Promise<boolean> {
  const { each, found, status, snapshot, datasets, ecosystem } = input
  const now = chainOf(status, each.chain)
  const final = now && (await finalBlock(connection, now))
  if (final === undefined) return false
  const isPassed = final.timestamp > found.asOfUnix
  if (isPassed) return true
  // A derived block is the last one only if a later one is final.
  if (!each.isNamed || (each.block?.number ?? 0) > final.number) return false
  if (!pricesTokens(ecosystem, each.chain)) return true
  const valued = await connection.run(sql`
    select 1 from events where dataset in (${join(datasets)})
      and timestamp_unix >= ${final.timestamp} and ${withinSnapshot(snapshot)} limit 1`)
  return valued.length === 0
}

function pricesTokens({ tokens }: Ecosystem, chain: Chain): boolean {
  return tokens.some(({ prices }) => prices.some((each) => each.chain?.id === chain.id))
}
