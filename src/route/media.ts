import { hash } from 'node:crypto'
import { stringify } from 'csv-stringify/sync'
import Negotiator from 'negotiator'
import { type TObject, Type } from 'typebox'
import { type Parameter, parsed } from '#route/route.ts'
import type { RequestFacts } from './route.ts'

export const CSV_TYPE = 'text/csv; charset=utf-8'

/** Accept may name parameters (RFC 4180, section 3). */
const OFFERED_CSV = `${CSV_TYPE}; header=present`

export const formatParameter: Parameter<'json' | 'csv' | undefined> = {
  in: 'query',
  description: '`json`, or `csv` (RFC 4180; also by `Accept: text/csv`).',
  schema: Type.Enum(['json', 'csv'], { default: 'json' }),
  parse(raw) {
    if (raw === undefined) return parsed(undefined, 'json')
    return raw === 'json' || raw === 'csv'
      ? parsed(raw, raw)
      : { ok: false, reason: 'must be json or csv', allowed: ['json', 'csv'] }
  },
}

export function wantsCsv(
  facts: Pick<RequestFacts, 'headers'>,
  format: 'json' | 'csv' | undefined,
): boolean {
  if (format !== undefined) return format === 'csv'
  const accept = facts.headers.accept?.toString()
  return preferredType(accept, [JSON_TYPE, OFFERED_CSV]) === OFFERED_CSV
}

/** RFC 4180, with a header row. */
export function toCsv(row: TObject, rows: readonly object[]): string {
  return stringify([...rows], {
    header: true,
    columns: Object.keys(row.properties),
    record_delimiter: 'windows',
    cast: { boolean: String },
  })
}

export const JSON_TYPE = 'application/json; charset=utf-8'
export const TEXT_TYPE = 'text/plain; charset=utf-8'

/**
 * RFC 9110, 12.5.1; the first offer if Accept is missing or matches none. Offers include
 * parameters, which ranges may name.
 */
export function preferredType<T extends string>(
  accept: string | undefined,
  offered: readonly [T, ...T[]],
): T {
  const [first] = offered
  if (accept === undefined || accept === '*/*') return first
  const preferred = new Negotiator({ headers: { accept } }).mediaType(offered)
  return offered.find((type) => type === preferred) ?? first
}

/**
 * Whether it is a page that is asked for. Browsers name XHTML; programs may name text/html without wanting it, as Java does
 * by default.
 */
export function wantsPage(accept: string | undefined): boolean {
  if (accept?.includes('application/xhtml+xml') !== true) return false
  return preferredType(accept, ['application/json', 'text/html']) === 'text/html'
}

export function acceptsType(accept: string | undefined, type: string): boolean {
  if (accept === undefined) return true
  return new Negotiator({ headers: { accept } }).mediaType([type]) !== undefined
}

/** RFC 9110, 12.5.3. */
export function acceptsCoding(header: string | undefined, coding: string): boolean {
  const negotiator = new Negotiator({ headers: { 'accept-encoding': header } })
  return negotiator.encoding([coding]) !== undefined
}

/** A weak entity tag (RFC 9110, 8.8.3). Equal ones mean equal content, so nothing per caller may enter it. */
export function weakEtag(of: string | Buffer): string {
  return `W/"${hash('sha256', of, 'base64url').slice(0, 22)}"`
}

/** Compares weakly (RFC 9110, 13.1.2). A proxy that compresses may have put the coding into the tag. */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  if (header.trim() === '*') return true
  const opaque = opaqueOf(etag)
  return header.split(',').some((each) => opaqueOf(each) === opaque)
}

function opaqueOf(etag: string): string {
  return etag
    .trim()
    .replace(/^W\//, '')
    .replace(/-(gzip|br|zstd)"$/, '"')
}
