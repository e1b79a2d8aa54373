import type { TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/schema'

/** A schema that is compiled when it is first asked for: a start waits some milliseconds for each that is not. */
export function compiledLate<const Schema extends TSchema>(
  schema: Schema,
): () => Validator<Schema> {
  let made: Validator<Schema> | undefined
  return () => {
    made ??= Compile(schema)
    return made
  }
}
