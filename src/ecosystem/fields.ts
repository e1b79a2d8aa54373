import { Type } from 'typebox'
import { recordOf } from '#base/schema.ts'

/** Parts of the file's schema that several entries share. */

export const closed = { additionalProperties: false } as const

export const addressText = Type.String({
  pattern: '^0x[0-9a-fA-F]{40}$',
  description: 'an address: 0x and 40 hex digits, with the EIP-55 checksum if in mixed case',
})

export const decimalText = Type.String({
  pattern: '^(0|[1-9][0-9]*)(\\.[0-9]{1,48})?$',
  description: 'a plain decimal number in quotes, such as "0.0001"',
})

export const symbol = Type.String({
  pattern: '^[A-Za-z0-9.$_-]{1,16}$',
  description: 'a symbol of 1 to 16 letters, digits or . $ _ -',
})

export const chainName = Type.String({
  pattern: '^[a-z][a-z0-9-]{0,31}$',
  description: 'a chain name in lower case, such as "base"',
})

export const argumentName = Type.String({ minLength: 1 })

export const eventText = Type.String({
  pattern: '^event ',
  description: 'an event in human-readable ABI, as Solidity writes it: "event Name(...)"',
})

export const mapping = {
  chain: chainName,
  address: Type.Optional(addressText),
  contracts: Type.Optional(
    Type.Object(
      { factory: addressText, event: eventText, argument: Type.String({ minLength: 1 }) },
      closed,
    ),
  ),
  event: eventText,
  rows: Type.Optional(
    Type.String({
      pattern: '^(\\.|/.*)/[^/]+\\.[cm]?[jt]s$',
      description: 'a module beside the file, such as "./payouts.ts"',
    }),
  ),
  with: Type.Optional(
    Type.Array(Type.Object({ address: Type.Optional(addressText), event: eventText }, closed), {
      minItems: 1,
    }),
  ),
  token: Type.Optional(symbol),
  where: Type.Optional(
    recordOf(
      Type.Union([
        Type.String(),
        Type.Array(Type.String(), { minItems: 1 }),
        Type.Object(
          { not: Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1 })]) },
          closed,
        ),
      ]),
    ),
  ),
}
