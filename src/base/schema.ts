import {
  type Static,
  type TObject,
  type TProperties,
  type TSchema,
  type TUnsafe,
  Type,
} from 'typebox'

/** An object that the OpenAPI document lists under this name. */
export const named = <P extends TProperties>(title: string, properties: P): TObject<P> =>
  Type.Object(properties, { title })

/** An object with any keys. `Type.Record` makes `patternProperties`, which generators of clients do not know. */
export const mapOf = <V extends TSchema>(
  value: V,
  options?: object,
): TUnsafe<Record<string, Static<V>>> =>
  Type.Unsafe({ type: 'object', additionalProperties: value, ...options })
