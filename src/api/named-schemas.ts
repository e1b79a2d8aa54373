import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { isObject, type JsonObject } from '#lib/json.ts'

/** Collects the schemas with a title as `components.schemas`; generators name their types by these. */
export class NamedSchemas {
  readonly #found = new Map<string, unknown>()

  /** The same with each member `schema` referring to them; examples may have titles of their own. */
  referIn(part: JsonObject): JsonObject {
    return mapMembers(part, (each, name) => {
      if (name === 'schema') return this.#refer(each)
      return isObject(each) && !name.startsWith('example') ? this.referIn(each) : each
    })
  }

  #refer(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((each) => this.#refer(each))
    if (!isObject(schema)) return schema
    const own = typed(mapMembers(schema, (each) => this.#refer(each)))
    if (typeof own.title !== 'string') return own
    const { title, ...named } = own
    const known = this.#found.get(title)
    assert(known === undefined || isDeepStrictEqual(known, named), `two schemas "${title}"`)
    this.#found.set(title, named)
    return { $ref: `#/components/schemas/${title}` }
  }

  all(): JsonObject {
    return Object.fromEntries([...this.#found].sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}

/** An enum with the type of its texts, without which some generators of clients and models refuse it. */
export function typed(schema: JsonObject): JsonObject {
  return 'enum' in schema && !('type' in schema) ? { type: 'string', ...schema } : schema
}

function mapMembers(
  object: JsonObject,
  change: (value: unknown, name: string) => unknown,
): JsonObject {
  const members = Object.entries(object).map(([name, value]) => [name, change(value, name)])
  return Object.fromEntries(members)
}
