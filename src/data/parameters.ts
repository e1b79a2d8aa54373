import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import { type Address, parseAddress, showAddress } from '#base/address.ts'
import { type Refusal, refuse } from '#base/refusal.ts'
import { DAY_SECONDS, lastDays, parseMoment, startOfDay, toDate } from '#base/time.ts'
import {
  NOTHING,
  readEventDays,
  type Sums,
  sumTotal,
  sumTotals,
  takeSums,
} from '#data/events/sums.ts'
import type { Connection } from '#db/engine.ts'
import type { Chain, Ecosystem, PricedToken } from '#ecosystem/ecosystem.ts'
import { type Parameter, type Parsed, parsed, parseInteger } from '#route.ts'

const PERIOD_DAYS_MAX = 3_650

export const periodParameter: Parameter<Period> = {
  in: 'query',
  description: 'How far back, in UTC days that end with today: `<n>d`, or `all`.',
  schema: Type.String({ pattern: '^([1-9][0-9]{0,3}d|all)$', default: '30d' }),
  example: '30d',
  parse(raw = '30d') {
    if (raw === 'all') return parsed('all', 'all')
    const days = /^[1-9][0-9]{0,3}d$/.test(raw) ? Number(raw.slice(0, -1)) : Number.NaN
    return days <= PERIOD_DAYS_MAX
      ? parsed(days, raw)
      : {
          ok: false,
          reason: 'must be <n>d from 1d to 3650d, or all',
          minimum: 1,
          maximum: PERIOD_DAYS_MAX,
        }
  },
}

export function limitParameter(normal: number): Parameter<number> {
  const range = { minimum: 1, maximum: 100 }
  return {
    in: 'query',
    description: 'Number of rows.',
    schema: Type.Integer({ ...range, default: normal }),
    example: 5,
    parse: (raw) => (raw === undefined ? parsed(normal, normal) : parseInteger(raw, range)),
  }
}

export function chainParameter(ecosystem: Ecosystem): Parameter<Chain | undefined> {
  const allowed = [...ecosystem.chains.map((chain) => chain.name), 'all']
  return {
    in: 'query',
    description: 'A chain by name, id (`8453`) or CAIP-2 (`eip155:8453`), in any case; or `all`.',
    schema: Type.String({ default: 'all', examples: allowed }),
    example: allowed[0] ?? 'all',
    parse(raw = 'all'): Parsed<Chain | undefined> {
      const text = raw.toLowerCase()
      if (text === 'all') return parsed(undefined, 'all')
      const chain = ecosystem.chains.find(({ name, id }) =>
        [name, String(id), `eip155:${id}`].includes(text),
      )
      return chain
        ? parsed(chain, chain.name)
        : { ok: false, reason: 'is not a chain of this service', allowed }
    },
  }
}

/** Undefined if absent without a default. */
export function tokenParameter<Default extends PricedToken | undefined>(
  tokens: readonly PricedToken[],
  normal: Default,
): Parameter<PricedToken | Default> {
  const allowed = tokens.map((token) => token.symbol)
  return {
    in: 'query',
    description: 'A token by symbol (any case) or by its address on any chain.',
    schema: Type.String({ ...(normal && { default: normal.symbol }), examples: allowed }),
    example: normal?.symbol ?? allowed[0] ?? '',
    parse(raw): Parsed<PricedToken | Default> {
      if (raw === undefined || (normal === undefined && raw.toLowerCase() === 'all'))
        return parsed(normal, normal?.symbol ?? 'all')
      const address = parseAddress(raw)
      const token = tokens.find(({ symbol, addresses }) =>
        address === undefined
          ? symbol.toUpperCase() === raw.toUpperCase()
          : [...addresses.values()].includes(address),
      )
      return token
        ? parsed(token, token.symbol)
        : { ok: false, reason: 'is not a token of this service', allowed }
    },
  }
}

export const addressParameter: Parameter<Address> = {
  in: 'path',
  description: 'A wallet address; if in mixed case, with a valid EIP-55 checksum.',
  schema: Type.String({ pattern: '^0x[0-9a-fA-F]{40}$' }),
  example: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  parse(raw = '') {
    const address = parseAddress(raw)
    return address
      ? parsed(address, showAddress(address))
      : {
          ok: false,
          code: 'invalid_address',
          reason: 'must be 0x and 40 hex digits, with a valid EIP-55 checksum if in mixed case',
        }
  },
}

/** A wallet as a filter; undefined if absent. */
export function walletParameter(description: string): Parameter<Address | undefined> {
  return {
    ...addressParameter,
    in: 'query',
    description,
    parse: (raw) => (raw === undefined ? parsed(undefined, null) : addressParameter.parse(raw)),
  }
}

/** Undefined if absent. */
export function timeParameter(description: string): Parameter<number | undefined> {
  return {
    in: 'query',
    description: `${description} Unix seconds, a UTC day, or RFC 3339 such as 2026-11-21T04:00:00Z.`,
    schema: Type.String({ pattern: '^[0-9TZ:.+ -]{1,35}$' }),
    parse: (raw) => (raw === undefined ? parsed(undefined, null) : parseTime(raw)),
  }
}

function parseTime(raw: string): Parsed<number> {
  const ms = parseMoment(raw)
  if (ms === undefined)
    return { ok: false, reason: 'must be Unix seconds, 2026-01-31 or 2026-01-31T00:00:00Z' }
  const unix = Math.floor(ms / 1_000)
  return parsed(unix, unix)
}

export interface Cursor<After> {
  readonly filters: string
  readonly after: After
}

/** `pattern` matches what follows the filters; `read` takes its groups. */
export function cursorParameter<After>(
  { pattern, lengthMax }: { readonly pattern: string; readonly lengthMax: number },
  read: (parts: readonly string[]) => After | undefined,
): Parameter<Cursor<After> | undefined> {
  const whole = new RegExp(`^([0-9a-f]{16})\\.${pattern}$`)
  return {
    in: 'query',
    description: 'Continues after a page: its `meta.page.nextCursor`, with the same filters.',
    schema: Type.String({ pattern: `^[A-Za-z0-9_-]{1,${lengthMax}}$` }),
    parse(raw) {
      if (raw === undefined) return parsed(undefined, null)
      const text = Buffer.from(raw, 'base64url').toString('latin1')
      const [, filters = '', ...parts] = whole.exec(text) ?? []
      const after = filters === '' ? undefined : read(parts)
      return after !== undefined && Buffer.from(text).toString('base64url') === raw
        ? parsed({ filters, after }, raw)
        : { ok: false, code: 'invalid_cursor', reason: 'must be a nextCursor of this service' }
    },
  }
}

export function encodeCursor(filters: string, after: readonly (string | number | bigint)[]) {
  return Buffer.from([filters, ...after].join('.')).toString('base64url')
}

/** Distinguishes filters; needs no secrecy. */
export function hashFilters(filters: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(filters)).digest('hex').slice(0, 16)
}

export function checkCursor(
  cursor: Cursor<unknown> | undefined,
  filters: string,
): Refusal | undefined {
  return cursor === undefined || cursor.filters === filters ? undefined : OTHER_FILTERS
}

const OTHER_FILTERS = refuse(
  'invalid_cursor',
  'cursor was issued for other filters; repeat the request without it',
  { errors: [{ in: 'query', name: 'cursor', reason: 'was issued for other filters' }] },
)

/** `all` goes back to the first day with data. */
export type Period = number | 'all'

export interface SeriesDay {
  readonly date: string
  readonly dateUnix: number
  /** False for today. */
  readonly complete: boolean
}

/** Returns days oldest first, today last; `all` starts at the first day with data. */
export function seriesDays(
  period: Period,
  asOfUnix: number,
  firstUnix: number | undefined,
): readonly SeriesDay[] {
  const today = startOfDay(asOfUnix)
  const all = (today - startOfDay(firstUnix ?? asOfUnix)) / DAY_SECONDS + 1
  return lastDays(asOfUnix, period === 'all' ? Math.max(1, all) : period).map((dateUnix) => ({
    date: toDate(dateUnix),
    dateUnix,
    complete: dateUnix !== today,
  }))
}

/** Computes values backwards from the current one; `without` subtracts a day's change. */
export function valuesAtDayEnds<Value>(
  days: readonly SeriesDay[],
  now: Value,
  without: (value: Value, dayUnix: number) => Value,
): readonly Value[] {
  const values: Value[] = []
  let value = now
  for (const day of days.toReversed()) {
    values.push(value)
    value = without(value, day.dateUnix)
  }
  return values.reverse()
}

interface SummedDay {
  readonly day: SeriesDay
  readonly sums: Sums
  /** The sum of all events up to its end. */
  readonly until: Sums
}

export async function readEventSeries(
  connection: Connection,
  events: {
    readonly dataset: string
    readonly token: PricedToken | undefined
    readonly chain?: Chain | undefined
  },
  { period, asOfUnix }: { readonly period: Period; readonly asOfUnix: number },
): Promise<readonly SummedDay[]> {
  const { dataset, token, chain } = events
  const byDay = await readEventDays(connection, {
    dataset,
    token: token?.symbol,
    fromUnix: period === 'all' ? 0 : startOfDay(asOfUnix) - (period - 1) * DAY_SECONDS,
    ...(chain && { chainId: chain.id }),
  })
  const now = sumTotal(
    await sumTotals(connection, dataset),
    (each) => (!token || each.token === token.symbol) && (!chain || each.chainId === chain.id),
  )
  const first = byDay.size === 0 ? undefined : Math.min(...byDay.keys())
  const days = seriesDays(period, asOfUnix, first)
  const sumsOf = (dayUnix: number) => byDay.get(dayUnix) ?? NOTHING
  const until = valuesAtDayEnds(days, now, (sums, day) => takeSums(sums, sumsOf(day)))
  return days.map((day, index) => ({
    day,
    sums: sumsOf(day.dateUnix),
    until: until[index] ?? NOTHING,
  }))
}
