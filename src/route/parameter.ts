import type { TSchema } from 'typebox'
import type { RefusalCode } from '#domain/refusal.ts'

/** What `meta.query` shows of a parameter after defaults. */
export type Effective = string | number | null

/** A parameter's value, or what is wrong with it. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T; readonly effective: Effective }
  | {
      readonly ok: false
      readonly reason: string
      /** `invalid_parameter` unless the parameter has a code of its own. */
      readonly code?: RefusalCode
      readonly allowed?: readonly string[]
      readonly minimum?: number
      readonly maximum?: number
    }

/** One query or path parameter: its document and its only parser. */
export interface Parameter<T> {
  readonly in: 'query' | 'path'
  readonly description: string
  /** JSON Schema as the OpenAPI document shows it, default included. */
  readonly schema: TSchema
  readonly example?: string | number
  /** `raw` is undefined when the parameter is absent, and never empty. */
  parse(raw: string | undefined): Parsed<T>
}

export type Parameters = Readonly<Record<string, Parameter<unknown>>>

export type ValuesOf<P extends Parameters> = {
  readonly [Name in keyof P]: P[Name] extends Parameter<infer T> ? T : never
}

/** A value that is right, with what `meta.query` shows of it. */
export function parsed<T>(value: T, effective: Effective): Parsed<T> {
  return { ok: true, value, effective }
}

/** An integer between two bounds, never clamped. */
export function parseInteger(
  raw: string,
  range: { readonly minimum: number; readonly maximum: number },
): Parsed<number> {
  const value = /^(0|[1-9][0-9]{0,14})$/.test(raw) ? Number(raw) : Number.NaN
  if (value >= range.minimum && value <= range.maximum) return parsed(value, value)
  return {
    ok: false,
    reason: `must be an integer from ${range.minimum} to ${range.maximum}`,
    ...range,
  }
}
