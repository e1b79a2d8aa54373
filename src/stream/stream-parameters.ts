import { addressParameter } from '#datasets/parameters.ts'
import type { Address } from '#domain/address.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import type { Chain, PricedToken } from '#ecosystem/ecosystem.ts'
import { Type } from '#lib/type.ts'
import { type Parameter, parsed } from '#route/parameter.ts'
import type { RequestHeaders } from '#route/route.ts'

export const KINDS = ['burn', 'claim', 'distribution', 'dig', 'price'] as const

export type StreamKind = (typeof KINDS)[number]

export interface Cursor {
  readonly epoch: string
  readonly sequence: number
}

export interface Filter {
  readonly kind: StreamKind | undefined
  readonly token: PricedToken | undefined
  readonly chain: Chain | undefined
  readonly address: Address | undefined
  readonly finality: 'latest' | 'finalized'
}

export const kindParameter: Parameter<StreamKind | undefined> = {
  in: 'query',
  description: 'Only events of this kind, or `all`.',
  schema: Type.Enum([...KINDS, 'all'], { default: 'all' }),
  example: 'burn',
  parse(raw = 'all') {
    if (raw === 'all') return parsed(undefined, 'all')
    const kind = KINDS.find((each) => each === raw)
    return kind === undefined
      ? { ok: false, reason: 'is not a kind of event', allowed: [...KINDS, 'all'] }
      : parsed(kind, kind)
  },
}

export const walletParameter: Parameter<Address | undefined> = {
  ...addressParameter,
  in: 'query',
  description: 'Only events of this wallet, which burned, was paid or dug; without prices.',
  parse: (raw) => (raw === undefined ? parsed(undefined, null) : addressParameter.parse(raw)),
}

export const finalityParameter: Parameter<Filter['finality']> = {
  in: 'query',
  description:
    '`latest`: events of new blocks, retracted by a reorg; `finalized`: of final blocks.',
  schema: Type.Enum(['latest', 'finalized'], { default: 'latest' }),
  parse: (raw = 'latest') =>
    raw === 'latest' || raw === 'finalized'
      ? parsed(raw, raw)
      : { ok: false, reason: 'must be latest or finalized', allowed: ['latest', 'finalized'] },
}

const NO_CURSOR = 'is not an event id of this service'

export const eventIdParameter: Parameter<Cursor | undefined> = {
  in: 'query',
  description: 'Continues after the event with this id; the header `Last-Event-ID` wins.',
  schema: Type.String({ pattern: '^[0-9a-f]{12}[.][0-9]{1,15}$' }),
  parse(raw) {
    if (raw === undefined) return parsed(undefined, null)
    const cursor = parseCursor(raw)
    return cursor === undefined
      ? { ok: false, code: 'invalid_cursor', reason: NO_CURSOR }
      : parsed(cursor, raw)
  },
}

/** A browser repeats the URL of its first request, so the header is newer. */
export function lastEventId(headers: RequestHeaders): Cursor | Refusal | undefined {
  const raw = headers['last-event-id']
  if (raw === undefined || raw === '') return undefined
  const name = 'Last-Event-ID'
  return (
    parseCursor(String(raw)) ??
    refuse('invalid_cursor', `${name} ${NO_CURSOR}`, {
      errors: [{ in: 'header', name, reason: NO_CURSOR }],
    })
  )
}

function parseCursor(raw: string): Cursor | undefined {
  const match = /^([0-9a-f]{12})[.]([0-9]{1,15})$/.exec(raw)
  return match === null ? undefined : { epoch: match[1] ?? '', sequence: Number(match[2]) }
}
