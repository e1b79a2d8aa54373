import type { TSchema } from 'typebox'
import type { RefusalCode } from '#domain/refusal.ts'

/** A value after defaults, as in `meta.query`. */
export type Effective = string | number | null

export type Parsed<T> =
  | { readonly ok: true; readonly value: T; readonly effective: Effective }
  | {
      readonly ok: false
      readonly reason: string
      /** Default `invalid_parameter`. */
      readonly code?: RefusalCode
      readonly allowed?: readonly string[]
      readonly minimum?: number
      readonly maximum?: number
    }

/** Documentation and parser together. */
export interface Parameter<T> {
  readonly in: 'query' | 'path'
  readonly description: string
  /** Default included. */
  readonly schema: TSchema
  readonly example?: string | number
  /** Undefined when absent, never empty. */
  parse(raw: string | undefined): Parsed<T>
}

export type Parameters = Readonly<Record<string, Parameter<unknown>>>

export type ValuesOf<P extends Parameters> = {
  readonly [Name in keyof P]: P[Name] extends Parameter<infer T> ? T : never
}

export function parsed<T>(value: T, effective: Effective): Parsed<T> {
  return { ok: true, value, effective }
}

/** Never clamps. */
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
