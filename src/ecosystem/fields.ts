import { type TObject, type TProperties, Type } from 'typebox'
import { recordOf } from '#base/schema.ts'

/** Parts of the file's schema that several entries share. */

export const closed = { additionalProperties: false } as const

/** An object without other members. */
export const entryOf = <P extends TProperties>(properties: P): TObject<P> =>
  Type.Object(properties, closed)

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

export const text = (pattern: string, description: string) => Type.String({ pattern, description })

export const url = text('^https?://[^\\s/]+[^\\s]*$', 'a URL that begins with http:// or https://')

export const chainEntry = entryOf({
  name: chainName,
  id: Type.Integer({ minimum: 1, description: 'Chain id (EIP-155)' }),
  rpcUrls: Type.Array(url, {
    minItems: 1,
    description: 'JSON-RPC endpoints, the preferred one first',
  }),
  explorerUrl: Type.Optional(url),
  startBlock: Type.Integer({
    minimum: 0,
    description: 'The first block that can hold an event of the ecosystem',
  }),
  pollIntervalMs: Type.Integer({ minimum: 100, maximum: 60_000 }),
  finality: Type.Union([Type.Literal('tag'), Type.Integer({ minimum: 1, maximum: 100_000 })], {
    description:
      '"tag" where the node knows safe and finalized, else the depth in blocks that counts as final',
  }),
  staleAfterSeconds: Type.Integer({
    minimum: 5,
    description: 'The chain is stale once its newest block is older than this',
  }),
  proofs: Type.Optional(
    Type.Enum(['every', 'deposits'], {
      description:
        '"every" (default): all logs of new blocks are proven by receipts; "deposits": only those of payments',
    }),
  ),
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
    entryOf({ factory: addressText, event: eventText, argument: Type.String({ minLength: 1 }) }),
  ),
  event: eventText,
  rows: Type.Optional(
    Type.String({
      pattern: '^(\\.|/.*)/[^/]+\\.[cm]?[jt]s$',
      description: 'a module beside the file, such as "./payouts.ts"',
    }),
  ),
  with: Type.Optional(
    Type.Array(entryOf({ address: Type.Optional(addressText), event: eventText }), {
      minItems: 1,
    }),
  ),
  token: Type.Optional(symbol),
  where: Type.Optional(
    recordOf(
      Type.Union([
        Type.String(),
        Type.Array(Type.String(), { minItems: 1 }),
        entryOf({ not: Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1 })]) }),
      ]),
    ),
  ),
}
