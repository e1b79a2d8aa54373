import { type Static, type TSchema, type TSchemaOptions, Type } from 'typebox'
import { formatDecimal, type MicroUsd, toUsd } from '#base/money.ts'
import { named, recordOf } from '#base/schema.ts'
import { toIso } from '#base/time.ts'
import { countUnpriced, type Sums, toDollars } from '#data/events/sums.ts'
import { HOLDERS } from '#data/holders/tables.ts'
import {
  type Ecosystem,
  notConfigured,
  OPTIONAL_PARTS,
  type PricedToken,
} from '#ecosystem/ecosystem.ts'
import {
  type IndexStatus,
  judgeCondition,
  STALL_REASONS,
  UNKNOWN_REASONS,
  type UnknownFigure,
} from '#index/status.ts'
import type { Effective } from '#route.ts'

export interface RegisterState {
  readonly status: IndexStatus
  readonly nowUnix: number
  /** Changes whenever an answer's body may, except for elapsed seconds. */
  readonly revision: string
}

export const nullable = <Schema extends TSchema>(schema: Schema, options: TSchemaOptions = {}) =>
  Type.Union([schema, Type.Null()], options)

const chainMeta = named('ChainStatus', {
  chain: Type.String(),
  chainId: Type.Integer(),
  blockNumber: Type.Integer({ description: 'Newest indexed block' }),
  blockTimeUnix: Type.Integer(),
  lagSeconds: Type.Integer({ minimum: 0, description: 'Age of that block' }),
  finalizedBlock: Type.Integer(),
  status: Type.Enum(['live', 'syncing', 'stale']),
  stalled: nullable(Type.Enum([...STALL_REASONS]), {
    description: 'Why newer blocks of the chain cannot be read; null while they can',
  }),
})

const unknownMeta = named('UnknownFigure', {
  chain: Type.String(),
  chainId: Type.Integer(),
  dataset: Type.String(),
  token: nullable(Type.String()),
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
    unknown: Type.Array(unknownMeta, {
      description:
        'What cannot be vouched for. Of dataset `holders`, figures that follow from balances are null; those of other datasets lack logs',
    }),
    notConfigured: notConfiguredSchema,
    query: recordOf(Type.Union([Type.String(), Type.Integer(), Type.Null()]), {
      description: 'Effective parameters after defaults',
    }),
  },
  { title: 'Meta', additionalProperties: true },
)

export const pageSchema = named('Page', {
  limit: Type.Integer(),
  count: Type.Integer(),
  nextCursor: nullable(Type.String()),
})

export type PageMeta = Static<typeof pageSchema>

export function buildMeta(
  ecosystem: Ecosystem,
  { status, nowUnix }: RegisterState,
  query: Readonly<Record<string, Effective>>,
): Static<typeof metaSchema> {
  const chains = status.chains.map((each) => ({
    chain: each.chain.name,
    chainId: each.chain.id,
    blockNumber: each.blockNumber,
    blockTimeUnix: each.blockTimeUnix,
    lagSeconds: Math.max(0, nowUnix - each.blockTimeUnix),
    finalizedBlock: each.finalizedNumber,
    status: judgeCondition(each, nowUnix),
    stalled: each.stalled,
  }))
  return {
    asOf: toIso(status.asOfUnix),
    asOfUnix: status.asOfUnix,
    stale: chains.some((each) => each.status === 'stale'),
    chains,
    unknown: nameUnknown(status, ecosystem.tokens).map(({ detail: _, ...shown }) => shown),
    notConfigured: [...notConfigured(ecosystem)],
    query,
  }
}

interface NamedUnknown extends Pick<UnknownFigure, 'dataset' | 'reason' | 'detail'> {
  readonly chain: string
  readonly chainId: number
  /** Null if the contract is not a token of the file. */
  readonly token: string | null
}

export function nameUnknown(
  status: Pick<IndexStatus, 'unknown' | 'chains'>,
  tokens: Ecosystem['tokens'],
): readonly NamedUnknown[] {
  return status.unknown.flatMap(({ chainId, contract, dataset, reason, detail }) => {
    const chain = status.chains.find((each) => each.chain.id === chainId)?.chain
    if (chain === undefined) return []
    const token = tokens.find(({ addresses }) => addresses.get(chain.name) === contract)
    return [{ chain: chain.name, chainId, token: token?.symbol ?? null, dataset, reason, detail }]
  })
}

type Known = Pick<IndexStatus, 'unknown' | 'chains'>

/** Whether supply and holders of a token are known, on every chain or on one. */
export function areHoldersKnown(status: Known, token: PricedToken, chainId?: number): boolean {
  return listUnknown(status, token).every((each) => (chainId ?? each.chainId) !== each.chainId)
}

/** Otherwise nothing that follows from its transfers is known. */
export function areTransfersReadable(status: Known, token: PricedToken): boolean {
  return listUnknown(status, token).every(({ reason }) => reason !== 'unreadable')
}

function listUnknown({ unknown, chains }: Known, { addresses }: PricedToken) {
  return unknown.filter(({ dataset, chainId, contract }) => {
    const chain = chains.find((each) => each.chain.id === chainId)?.chain
    return dataset === HOLDERS && chain !== undefined && addresses.get(chain.name) === contract
  })
}

export const amountText = Type.String({
  pattern: '^-?(0|[1-9][0-9]*)(\\.[0-9]*[1-9])?$',
  description: 'Token units: no exponent, no trailing zeros',
})

export const rawText = Type.String({ pattern: '^-?(0|[1-9][0-9]*)$', description: 'Base units' })

const usdNumber = Type.Number({ description: 'US dollars, at most 6 decimals' })

export const usdOrNull = nullable(usdNumber, {
  description: 'US dollars, at most 6 decimals; null without a price',
})

export const unpricedCount = Type.Integer({
  minimum: 0,
  description: 'How many of the events have no dollar value, and are not in the sum',
})

export const priceNumber = Type.Number({ description: 'US dollars per token' })

export const priceText = Type.String({
  pattern: '^(0|[1-9][0-9]*)(\\.[0-9]*[1-9])?$',
  description: 'US dollars, 18 significant digits, no exponent, no trailing zeros',
})

export const unixTime = Type.Integer({ description: 'Unix seconds' })

export const addressText = Type.String({ pattern: '^0x[0-9a-fA-F]{40}$', description: 'EIP-55' })

type Both<Name extends string, Value> = Record<Name | `${Name}Raw`, Value>

export function amountShape<Name extends string>(name: Name) {
  return { [name]: amountText, [`${name}Raw`]: rawText } as Both<Name, typeof amountText>
}

export function amountShapeOrNull<Name extends string>(name: Name) {
  const [amount, raw] = [nullable(amountText), nullable(rawText)]
  return { [name]: amount, [`${name}Raw`]: raw } as Both<Name, typeof amount>
}

export function amounts<Name extends string, Raw extends bigint | null>(
  name: Name,
  raw: Raw,
  decimals: number,
) {
  const shown = raw === null ? null : formatDecimal(raw, decimals)
  type Shown = Raw extends bigint ? string : string | null
  return { [name]: shown, [`${name}Raw`]: raw === null ? null : raw.toString() } as Both<
    Name,
    Shown
  >
}

export function dollarShape<Name extends string>(name: Name) {
  return { [name]: usdOrNull, unpricedCount } as Record<Name, typeof usdOrNull> & {
    unpricedCount: typeof unpricedCount
  }
}

/** Shows dollars at the events, and how many of these have none. */
export function dollars<Name extends string>(name: Name, sums: Sums) {
  const [usd, unpriced] = [toUsdOrNull(toDollars(sums)), countUnpriced(sums)]
  return { [name]: usd, unpricedCount: unpriced } as Record<Name, number | null> & {
    unpricedCount: number
  }
}

export function toUsdOrNull(value: MicroUsd | null): number | null {
  return value === null ? null : toUsd(value)
}
