import { exact } from './exact/exact.ts'
import type { Scheme } from './scheme.ts'

/** Schemes stand in the order of the offers. */
export const SCHEMES: readonly Scheme[] = [exact]

export function findScheme(name: unknown): Scheme | undefined {
  return SCHEMES.find((scheme) => scheme.name === name)
}

/** Finds the scheme of a stored payment. */
export function schemeOf({ scheme: name }: { readonly scheme: string }): Scheme {
  const scheme = findScheme(name)
  if (scheme === undefined) throw new Error(`a payment has the unknown scheme ${name}`)
  return scheme
}
