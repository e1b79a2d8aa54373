interface Range {
  /** A media type, a coding or a wildcard, in lower case. */
  readonly name: string
  readonly quality: number
}

interface Match {
  readonly quality: number
  /** 2 by name, 1 by the type alone, 0 by a wildcard; the most precise range decides. */
  readonly precision: number
  /** Place in the header. */
  readonly order: number
}

/**
 * The offered media type that an Accept header prefers (RFC 9110, 12.5.1): by quality, then by the
 * more precise range, then by its order. The first one offered when the header accepts none or is missing.
 */
export function preferredType<T extends string>(
  accept: string | undefined,
  offered: readonly [T, ...T[]],
): T {
  const [fallback] = offered
  if (accept === undefined) return fallback
  const ranges = rangesOf(accept)
  const matches = offered.map((type) => ({ type, ...matchOf(ranges, type) }))
  const [best] = matches
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality || b.precision - a.precision || a.order - b.order)
  return best?.type ?? fallback
}

/** Whether an Accept-Encoding header accepts a coding (RFC 9110, 12.5.3). */
export function acceptsCoding(header: string | undefined, coding: string): boolean {
  return header !== undefined && matchOf(rangesOf(header), coding).quality > 0
}

function rangesOf(header: string): readonly Range[] {
  return header.split(',').map((part) => {
    const [name = '', ...parameters] = part.split(';').map((each) => each.trim().toLowerCase())
    const weight = parameters.find((each) => each.startsWith('q='))
    const quality = weight === undefined ? 1 : Number(weight.slice(2))
    return { name, quality: quality <= 1 ? quality : 0 }
  })
}

function matchOf(ranges: readonly Range[], name: string): Match {
  let best: Match = { quality: 0, precision: -1, order: ranges.length }
  for (const [order, range] of ranges.entries()) {
    const precision = precisionOf(range.name, name)
    if (precision > best.precision) best = { quality: range.quality, precision, order }
  }
  return best
}

function precisionOf(range: string, name: string): number {
  if (range === name) return 2
  if (range === `${name.split('/')[0]}/*`) return 1
  return range === '*/*' || range === '*' ? 0 : -1
}
