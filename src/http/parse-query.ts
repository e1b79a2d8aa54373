/** Every value of every parameter. */
export type Query = ReadonlyMap<string, readonly string[]>

export const NO_QUERY: Query = new Map()

/**
 * Every value of every parameter, in order. A Map, so that a parameter named `__proto__` is only a
 * name (WHATWG URL, application/x-www-form-urlencoded). The length is bounded by Node's header limit.
 */
export function parseQuery(text: string): Query {
  if (text === '') return NO_QUERY
  const query = new Map<string, string[]>()
  for (const [name, value] of new URLSearchParams(text)) {
    const values = query.get(name)
    if (values === undefined) query.set(name, [value])
    else values.push(value)
  }
  return query
}
