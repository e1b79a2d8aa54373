import type { TObject, TProperties, Type as Typebox } from 'typebox'

type Builders = Pick<
  typeof Typebox,
  | 'Array'
  | 'Boolean'
  | 'Enum'
  | 'Integer'
  | 'Intersect'
  | 'Literal'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'Record'
  | 'String'
  | 'Union'
>

/** Typebox's builders without its 300 files at every start. */
export const Type: Builders = {
  Array: (items, options) => make({ type: 'array', items }, options),
  Boolean: (options) => make({ type: 'boolean' }, options),
  Enum: <S>(values: unknown, options?: object) => make<S>({ enum: values }, options),
  Integer: (options) => make({ type: 'integer' }, options),
  Intersect: (allOf, options) => make({ allOf }, options),
  Literal: (value, options) => make({ type: typeof value, const: value }, options),
  Null: (options) => make({ type: 'null' }, options),
  Number: (options) => make({ type: 'number' }, options),
  Object(properties, options) {
    const names = Object.keys(properties)
    const required = names.filter((name) => !(OPTIONAL in (properties[name] ?? {})))
    const shape = { type: 'object', ...(required.length > 0 && { required }), properties }
    return make(shape, options)
  },
  // Marked as typebox does.
  Optional: (schema) => make(Object.defineProperty({ ...schema }, OPTIONAL, { value: true })),
  // Not typebox's `patternProperties`, which generators of clients do not know.
  Record: (_key, value, options) => make({ type: 'object', additionalProperties: value }, options),
  String: (options) => make({ type: 'string' }, options),
  Union: (anyOf, options) => make({ anyOf }, options),
}

/** An object that the OpenAPI document lists under this name. */
export const named = <P extends TProperties>(title: string, properties: P): TObject<P> =>
  Type.Object(properties, { title })

const OPTIONAL = '~optional'

function make<S>(schema: object, options?: object): S {
  const made: unknown = Object.assign(schema, options)
  return made as S
}
