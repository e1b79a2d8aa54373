import type { Chain } from '#chains/ecosystem/ecosystem.ts'
import { CHAIN_PART, type FileParts } from '#chains/indexer/indexed-config/file-part.ts'
import type { ChainStatus, IndexStatus } from '#chains/indexer/status.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { HOLDERS, PRICES } from './dataset-names.ts'

/** A dataset that is re-indexed after its part of the file changed. */
export interface Reindexing {
  readonly chain: Chain
  readonly dataset: string
  readonly fromBlock: number
  /** Null while the head is unknown. */
  readonly toBlock: number | null
  readonly isEmpty: boolean
}

export function reindexingOf(status: IndexStatus, file: FileParts): readonly Reindexing[] {
  const unread = status.unread.flatMap((chain) =>
    datasetsOf(file, chain).map((dataset) => {
      const fromBlock = chain.startBlock
      return { chain, dataset, fromBlock, toBlock: null, isEmpty: true }
    }),
  )
  return [...unread, ...status.chains.flatMap((each) => reindexingOn(each, file))]
}

function reindexingOn(status: ChainStatus, file: FileParts): readonly Reindexing[] {
  const { chain, backfill, timesForgotten, blockNumber } = status
  if (backfill === null || timesForgotten === 0) return []
  const { newestFrom, folded, datasets } = backfill
  return (datasets ?? datasetsOf(file, chain)).map((dataset) => {
    const upTo = dataset === HOLDERS ? folded : backfill.read
    const isNewestThere = datasets === null && dataset !== HOLDERS
    const toBlock = isNewestThere ? newestFrom.number - 1 : blockNumber
    const isEmpty = upTo.hash === '0x' && !isNewestThere
    return { chain, dataset, fromBlock: upTo.number + 1, toBlock, isEmpty }
  })
}

function datasetsOf({ parts }: FileParts, chain: Chain): readonly string[] {
  const own = parts.filter(({ chainId, name }) => chainId === chain.id && name !== CHAIN_PART)
  return own.map(({ name }) => name)
}

export interface Needed {
  readonly datasets: readonly string[]
  /** Set if the request names a chain. */
  readonly chain?: Chain | undefined
}

/** The register was built from another file, or none of the data has been re-indexed. */
export function notReadYet(
  status: IndexStatus,
  file: FileParts,
  { datasets, chain }: Needed,
): Refusal | undefined {
  const names = new Set([...datasets, PRICES, CHAIN_PART])
  const other = status.otherParts.filter(({ chainId, name }) => chainId === null || names.has(name))
  if (other.length > 0)
    return notReady(
      `The index does not follow this server's ecosystem file yet (${other.flatMap(({ fields }) => fields).join(', ')}).`,
    )
  if (chain !== undefined && status.unread.includes(chain))
    return notReady(`No block of ${chain.name} has been indexed yet.`)
  const reindexing = reindexingOf(status, file)
  const empty = datasets.find((dataset) => {
    const on = file.parts.filter(
      ({ name, chainId }) => name === dataset && (chain === undefined || chain.id === chainId),
    )
    const isEmpty = (chainId: number | null) =>
      reindexing.some(
        (each) => each.isEmpty && each.dataset === dataset && each.chain.id === chainId,
      )
    return on.length > 0 && on.every(({ chainId }) => isEmpty(chainId))
  })
  return empty === undefined ? undefined : notReady(`The dataset ${empty} is being read again.`)
}

/** Whether none of these datasets is being re-indexed. */
export function isWhole(
  status: IndexStatus,
  file: FileParts,
  datasets: readonly string[],
): boolean {
  const isReindexed = reindexingOf(status, file).some(({ dataset }) => datasets.includes(dataset))
  return status.otherParts.length === 0 && !isReindexed
}

function notReady(detail: string): Refusal {
  return refuse('data_not_ready', `${detail} Try again soon.`, { retryAfterSeconds: 2 })
}
