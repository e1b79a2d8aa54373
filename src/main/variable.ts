export type Reading<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: string }

/** URLs can hold secrets, so errors show a prefix. */
const SHOWN_MAX = 24

/** Empty counts as absent. */
export function readVariable<T>(
  environment: Readonly<Record<string, string | undefined>>,
  name: string,
  fallback: T,
  parse: (text: string) => Reading<T>,
): { ok: true; value: T } | { ok: false; reason: string; shown: string } {
  const text = environment[name]?.trim() ?? ''
  if (text === '') return { ok: true, value: fallback }
  const reading = parse(text)
  return reading.ok ? reading : { ...reading, shown: shorten(text) }
}

function shorten(text: string): string {
  const safe = text.replace(/\/\/[^@\s]*@/g, '//...@')
  return safe.length > SHOWN_MAX ? `${safe.slice(0, SHOWN_MAX)}...` : safe
}

export function parseNumber(range: { readonly minimum: number; readonly maximum: number }) {
  return (text: string): Reading<number> => {
    const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN
    return value >= range.minimum && value <= range.maximum
      ? { ok: true, value }
      : { ok: false, reason: `must be an integer from ${range.minimum} to ${range.maximum}` }
  }
}

export function parseOneOf<T extends string>(values: readonly T[]) {
  return (text: string): Reading<T> => {
    const value = values.find((each) => each === text.toLowerCase())
    return value === undefined
      ? { ok: false, reason: `must be one of ${values.join(', ')}` }
      : { ok: true, value }
  }
}

/** `postgres` also accepts `postgresql`. */
export function parseUrl(scheme: 'postgres') {
  const isPostgres = new RegExp(`^${scheme}(?:ql)?://`, 'i')
  return (text: string): Reading<string> => {
    const { href = '', hostname = '' } = URL.parse(text) ?? {}
    return isPostgres.test(href) && !hostname.includes(',')
      ? { ok: true, value: text }
      : { ok: false, reason: `must be a ${scheme}://user:password@host:port/database URL` }
  }
}

export function parseList<T>(parse: (text: string) => Reading<T>) {
  return (text: string): Reading<readonly T[]> => {
    const values: T[] = []
    for (const part of text.split(',')) {
      const reading = parse(part.trim())
      if (!reading.ok) return reading
      values.push(reading.value)
    }
    return { ok: true, value: values }
  }
}
