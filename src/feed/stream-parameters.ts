import { Type } from 'typebox'
import type { Address } from '#base/address.ts'
import { type Refusal, refuse } from '#base/refusal.ts'
import { joinWords } from '#base/text.ts'
import { eventKinds } from '#data/kinds.ts'
import { chainParameter, tokenParameter, walletParameter } from '#data/parameters.ts'
import type { Chain, Ecosystem, PricedToken } from '#ecosystem/ecosystem.ts'
import { CURSOR_PATTERN, type FeedCursor, parseCursor } from '#index/feed.ts'
import { type Parameter, parsed, type RequestHeaders } from '#route.ts'

export const PRICE = 'price'

export const KINDS: readonly string[] = [
  ...new Set(eventKinds.flatMap(({ streamed }) => Object.values(streamed))),
  PRICE,
]

export interface Filter {
  readonly kind: string | undefined
  readonly token: PricedToken | undefined
  readonly chain: Chain | undefined
  readonly address: Address | undefined
  /** In token units, as text. */
  readonly leastAmount: Decimal | undefined
  /** Compared with the value at the time of the event. */
  readonly leastUsd: Decimal | undefined
}

const kindParameter: Parameter<string | undefined> = {
  in: 'query',
  description: 'Only events of this kind, or `all`.',
  schema: Type.Enum([...KINDS, 'all'], { default: 'all' }),
  example: 'burn',
  parse(raw = 'all') {
    if (raw === 'all') return parsed(undefined, 'all')
    return KINDS.includes(raw)
      ? parsed(raw, raw)
      : { ok: false, reason: 'must be a kind of event or `all`', allowed: [...KINDS, 'all'] }
  },
}

const deeds = joinWords(
  eventKinds.map(({ deed }) => deed),
  'or',
)

const DECIMAL = /^([0-9]{1,30})(?:[.]([0-9]{1,18}))?$/

export interface Decimal {
  readonly digits: bigint
  readonly decimals: number
}

function leastParameter(description: string): Parameter<Decimal | undefined> {
  return {
    in: 'query',
    description,
    schema: Type.String({ pattern: DECIMAL.source }),
    example: '0.5',
    parse(raw) {
      if (raw === undefined) return parsed(undefined, null)
      const [, whole = '', fraction = ''] = DECIMAL.exec(raw) ?? []
      if (whole === '') return { ok: false, reason: 'must be a decimal number such as 0.5' }
      return parsed({ digits: BigInt(whole + fraction), decimals: fraction.length }, raw)
    },
  }
}

/** Parameters of a filter. */
export function filterParameters(ecosystem: Ecosystem) {
  return {
    kind: kindParameter,
    token: tokenParameter(ecosystem.tokens, undefined),
    chain: chainParameter(ecosystem),
    address: walletParameter(`Only events of this wallet, which ${deeds}; without prices.`),
    leastAmount: leastParameter(
      'Only events of at least this many units of their token; no prices.',
    ),
    leastUsd: leastParameter(
      'Only events of at least this many dollars at their time; an update that falls below is left out.',
    ),
  }
}

const NO_CURSOR = 'must be the id of an event of this service'

export const eventIdParameter: Parameter<FeedCursor | undefined> = {
  in: 'query',
  description:
    'Continues after the event with this id. The header `Last-Event-ID` wins, then `lastEventId`, then `cursor`.',
  schema: Type.String({ pattern: CURSOR_PATTERN }),
  parse(raw) {
    if (raw === undefined) return parsed(undefined, null)
    const cursor = parseCursor(raw)
    return cursor === undefined
      ? { ok: false, code: 'invalid_cursor', reason: NO_CURSOR }
      : parsed(cursor, raw)
  },
}

/** Prefers the header, because a browser repeats the URL of its first request. */
export function readLastEventId(headers: RequestHeaders): FeedCursor | Refusal | undefined {
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
