import { type TSchema, Type } from 'typebox'
import { type MicroUsd, toUsd } from '#domain/money.ts'
import { formatDecimal } from '#lib/decimal.ts'

/** Shared shapes, each with its constructor. */

export const nullable = (schema: TSchema) => Type.Union([schema, Type.Null()])

export const amountText = Type.String({
  pattern: '^-?(0|[1-9][0-9]*)(\\.[0-9]*[1-9])?$',
  description: 'Token units: no exponent, no trailing zeros',
})

export const rawText = Type.String({ pattern: '^-?(0|[1-9][0-9]*)$', description: 'Base units' })

export const usdNumber = Type.Number({ description: 'US dollars, at most 6 decimals' })

export const usdOrNull = Type.Union([usdNumber, Type.Null()], {
  description: 'US dollars, at most 6 decimals; null without a price',
})

export const unpricedCount = Type.Integer({
  minimum: 0,
  description: 'How many of the events have no dollar value, and are not in the sum',
})

export const priceNumber = Type.Number({ description: 'US dollars per token' })

export const priceText = Type.String({
  pattern: '^(0|[1-9][0-9]*)(\\.[0-9]*[1-9])?$',
  description: 'US dollars, 18 significant digits, no exponent, no trailing zeros',
})

export const unixTime = Type.Integer({ description: 'Unix seconds' })

export const addressText = Type.String({ pattern: '^0x[0-9a-fA-F]{40}$', description: 'EIP-55' })

/** Shows an amount in token units and in base units. */
export function amounts<Name extends string, Raw extends bigint | null>(
  name: Name,
  raw: Raw,
  decimals: number,
) {
  const shown = raw === null ? null : formatDecimal(raw, decimals)
  type Shown = Raw extends bigint ? string : string | null
  return { [name]: shown, [`${name}Raw`]: raw === null ? null : raw.toString() } as Record<
    Name | `${Name}Raw`,
    Shown
  >
}

export function usdOf(value: MicroUsd | null): number | null {
  return value === null ? null : toUsd(value)
}
