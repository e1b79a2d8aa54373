/** Every value of every parameter. */
export type Query = ReadonlyMap<string, readonly string[]>

const NONE: Query = new Map()

/** The same few questions come again and again; longer ones are nobody's standing question. */
const KNOWN_MAX = 1_000
const KNOWN_CHARACTERS_MAX = 100

/**
 * Every value of every parameter, in order. A Map, so that a parameter named `__proto__` is only a
 * name (WHATWG URL, application/x-www-form-urlencoded). The length is bounded by Node's header limit.
 */
export function parseQuery(text: string): Query {
  if (text === '') return NONE
  const query = new Map<string, string[]>()
  for (const [name, value] of new URLSearchParams(text)) {
    const values = query.get(name)
    if (values === undefined) query.set(name, [value])
    else values.push(value)
  }
  return query
}

/** Makes a `parseQuery` that gives one and the same Map for a text that comes again. */
export function makeQueryParser(): (text: string) => Query {
  const known = new Map<string, Query>()
  return (text) => {
    if (text.length > KNOWN_CHARACTERS_MAX) return parseQuery(text)
    const held = known.get(text)
    if (held !== undefined) return held
    if (known.size >= KNOWN_MAX) known.clear()
    const query = parseQuery(text)
    known.set(text, query)
    return query
  }
}
