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
