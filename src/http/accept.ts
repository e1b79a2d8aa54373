import Negotiator from 'negotiator'

/**
 * The offered media type that an Accept header prefers (RFC 9110, 12.5.1); the first one when the
 * header is missing or accepts none. Offer types with their parameters: ranges may name them.
 */
export function preferredType<T extends string>(
  accept: string | undefined,
  offered: readonly [T, ...T[]],
): T {
  const [first] = offered
  // What most clients send.
  if (accept === undefined || accept === '*/*') return first
  const preferred = new Negotiator({ headers: { accept } }).mediaType(offered)
  return offered.find((type) => type === preferred) ?? first
}

/** Whether an Accept-Encoding header accepts a coding (RFC 9110, 12.5.3). */
export function acceptsCoding(header: string | undefined, coding: string): boolean {
  const negotiator = new Negotiator({ headers: { 'accept-encoding': header } })
  return negotiator.encoding([coding]) !== undefined
}
