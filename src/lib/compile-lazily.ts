import type { TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/schema'

/** Compiles on first use, to start faster. */
export function compileLazily<const Schema extends TSchema>(
  schema: Schema,
): () => Validator<Schema> {
  let made: Validator<Schema> | undefined
  return () => {
    made ??= Compile(schema)
    return made
  }
}
