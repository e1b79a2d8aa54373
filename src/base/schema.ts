import {
  type Static,
  type TObject,
  type TProperties,
  type TSchema,
  type TUnsafe,
  Type,
} from 'typebox'

/** An object listed under this name in the OpenAPI document. */
export const named = <P extends TProperties>(title: string, properties: P): TObject<P> =>
  Type.Object(properties, { title })

/** An object with any keys. `Type.Record` would make `patternProperties`, which client generators do not support. */
export const recordOf = <V extends TSchema>(
  value: V,
  options?: object,
): TUnsafe<Record<string, Static<V>>> =>
  Type.Unsafe({ type: 'object', additionalProperties: value, ...options })
