import { type Static, Type } from 'typebox'
import { type Ecosystem, notConfigured, OPTIONAL_PARTS } from '#chains/ecosystem/ecosystem.ts'
import { STALL_REASONS } from '#chains/indexer/stalled-chains.ts'
import { type ChainStatus, conditionOf } from '#chains/indexer/status.ts'
import { UNKNOWN_REASONS } from '#chains/indexer/unknown-figures.ts'
import { mapOf, named } from '#lib/schema.ts'
import { toIso } from '#lib/time.ts'
import type { Effective } from '#route/parameter.ts'
import type { RegisterState } from './answer-cache.ts'
import { nameUnknown, reindexingOf } from './unknown.ts'

const chainMeta = named('ChainStatus', {
  chain: Type.String(),
  chainId: Type.Integer(),
  blockNumber: Type.Integer({ description: 'Newest indexed block' }),
  blockTimeUnix: Type.Integer(),
  lagSeconds: Type.Integer({ minimum: 0, description: 'Age of that block' }),
  finalizedBlock: Type.Integer(),
  status: Type.Enum(['live', 'syncing', 'stale']),
  stalled: Type.Union([Type.Enum([...STALL_REASONS]), Type.Null()], {
    description: 'Why newer blocks of the chain cannot be read; null while they can',
  }),
  gap: Type.Union([
    Type.Object({
      fromBlock: Type.Integer(),
      toBlock: Type.Integer(),
      untilUnix: Type.Integer({ description: 'Windows that begin later are complete' }),
    }),
    Type.Null(),
  ]),
})

const reindexingMeta = named('Rereading', {
  chain: Type.String(),
  chainId: Type.Integer(),
  dataset: Type.String(),
  gap: Type.Object({
    fromBlock: Type.Integer({ description: 'First missing block' }),
    toBlock: Type.Union([Type.Integer(), Type.Null()]),
  }),
})

const unknownMeta = named('UnknownFigure', {
  chain: Type.String(),
  chainId: Type.Integer(),
  dataset: Type.String(),
  token: Type.Union([Type.String(), Type.Null()]),
  reason: Type.Enum([...UNKNOWN_REASONS], {
    description:
      '`unreadable`: logs of the contract could not be decoded; `differs`: a balance is below zero, which the contract cannot have',
  }),
})

export const notConfiguredSchema = Type.Array(Type.Enum([...OPTIONAL_PARTS]), {
  description:
    'Optional parts that this ecosystem does not configure; their endpoints return zeros and empty lists',
})

/** Nothing about the caller, because the ETag covers it. */
export const metaSchema = Type.Object(
  {
    asOf: Type.String({ format: 'date-time' }),
    asOfUnix: Type.Integer({ description: 'Time of the newest indexed block of any chain' }),
    stale: Type.Boolean({ description: 'At least one chain is stale' }),
    chains: Type.Array(chainMeta),
    rereading: Type.Array(reindexingMeta, {
      description:
        'Datasets being read again, because the ecosystem file changed; figures include what has been read so far',
    }),
    unknown: Type.Array(unknownMeta, {
      description:
        'What cannot be vouched for. Of dataset `holders`, figures that follow from balances are null; those of other datasets lack logs. What is not read yet is in `rereading` and `chains[].gap`',
    }),
    notConfigured: notConfiguredSchema,
    query: mapOf(Type.Union([Type.String(), Type.Integer(), Type.Null()]), {
      description: 'Effective parameters after defaults',
    }),
  },
  { title: 'Meta', additionalProperties: true },
)

export const pageSchema = named('Page', {
  limit: Type.Integer(),
  count: Type.Integer(),
  nextCursor: Type.Union([Type.String(), Type.Null()]),
})

export type PageMeta = Static<typeof pageSchema>

export function buildMeta(
  ecosystem: Ecosystem,
  { status, nowUnix }: RegisterState,
  query: Readonly<Record<string, Effective>>,
): Static<typeof metaSchema> {
  const chains = status.chains.map((each) => chainMetaOf(each, nowUnix))
  return {
    asOf: toIso(status.asOfUnix),
    asOfUnix: status.asOfUnix,
    stale: chains.some((each) => each.status === 'stale'),
    chains,
    rereading: reindexingOf(status).map(({ chain, dataset, fromBlock, toBlock }) => ({
      chain: chain.name,
      chainId: chain.id,
      dataset,
      gap: { fromBlock, toBlock },
    })),
    unknown: nameUnknown(status, ecosystem.tokens).map(({ detail: _, ...shown }) => shown),
    notConfigured: [...notConfigured(ecosystem)],
    query,
  }
}

function chainMetaOf(status: ChainStatus, nowUnix: number): Static<typeof chainMeta> {
  return {
    chain: status.chain.name,
    chainId: status.chain.id,
    blockNumber: status.blockNumber,
    blockTimeUnix: status.blockTimeUnix,
    lagSeconds: Math.max(0, nowUnix - status.blockTimeUnix),
    finalizedBlock: status.finalizedNumber,
    status: conditionOf(status, nowUnix),
    stalled: status.stall?.reason ?? null,
    gap: gapOf(status),
  }
}

/**
 * Null if only datasets that build on older history are incomplete; those lack newer blocks too.
 */
function gapOf({ backfill }: ChainStatus) {
  if (backfill === null || backfill.datasets !== null) return null
  const { newestFrom, read } = backfill
  const [fromBlock, toBlock] = [read.number + 1, newestFrom.number - 1]
  return fromBlock > toBlock ? null : { fromBlock, toBlock, untilUnix: newestFrom.timestamp }
}
