import { hash } from 'node:crypto'
import Negotiator from 'negotiator'

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
