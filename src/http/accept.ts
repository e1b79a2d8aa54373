import Negotiator from 'negotiator'

/**
 * The offered type preferred by Accept (RFC 9110, 12.5.1); the first if it is missing or accepts
 * none. Include parameters in the offer, since ranges may name them.
 */
export function preferredType<T extends string>(
  accept: string | undefined,
  offered: readonly [T, ...T[]],
): T {
  const [first] = offered
  // Fast path for most clients.
  if (accept === undefined || accept === '*/*') return first
  const preferred = new Negotiator({ headers: { accept } }).mediaType(offered)
  return offered.find((type) => type === preferred) ?? first
}

/** RFC 9110, 12.5.3. */
export function acceptsCoding(header: string | undefined, coding: string): boolean {
  const negotiator = new Negotiator({ headers: { 'accept-encoding': header } })
  return negotiator.encoding([coding]) !== undefined
}
