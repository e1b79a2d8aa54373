import { type Static, type TInteger, type TOptional, Type } from 'typebox'
import { recordOf } from '#base/schema.ts'
import { type ShareTier, shareTiers, type Tier, tiers } from '#base/tier.ts'
import { eventLists } from '#data/kinds.ts'
import {
  addressText,
  argumentName,
  chainEntry,
  chainName,
  closed,
  decimalText,
  entryOf,
  eventText,
  mapping,
  symbol,
  text,
  url,
} from './fields.ts'
import { priceSchema } from './price-kinds.ts'

const bridge = entryOf({
  chain: chainName,
  address: addressText,
  event: eventText,
  amount: argumentName,
  /** Names the token of a bridge that moves others too: anyone can list one of their own there. */
  where: mapping.where,
})

const addressOrCoin = Type.String({
  pattern: '^(0x[0-9a-fA-F]{40}|native)$',
  description:
    'an address: 0x and 40 hex digits, with the EIP-55 checksum if in mixed case, or "native" for the coin of the chain',
})

const token = entryOf({
  symbol,
  name: Type.String({ minLength: 1, maxLength: 64 }),
  role: Type.Enum(['primary', 'secondary', 'reward']),
  decimals: Type.Integer({ minimum: 0, maximum: 36 }),
  addresses: recordOf(addressOrCoin, { minProperties: 1 }),
  price: Type.Optional(Type.Union([priceSchema, Type.Array(priceSchema, { minItems: 1 })])),
  bridges: Type.Optional(Type.Array(bridge)),
})

const payment = entryOf({
  chain: chainName,
  asset: addressText,
  symbol,
  domain: entryOf({ name: Type.String(), version: Type.String() }),
  confirmations: Type.Integer({ minimum: 0, maximum: 10_000 }),
  settle: Type.Optional(
    Type.Object(
      { facilitator: Type.String({ description: 'URL of an x402 facilitator' }) },
      {
        ...closed,
        description:
          'who settles x402 payments; without it, the wallet of SEXTON_SETTLING_KEY_FILE in this service',
      },
    ),
  ),
  payTo: Type.Array(entryOf({ address: addressText, since: Type.String({ format: 'date' }) }), {
    minItems: 1,
  }),
})

const color = Type.Object(
  { light: hexColor('light'), dark: hexColor('dark') },
  { ...closed, description: 'a color on a light and on a dark page' },
)

function hexColor(mode: string) {
  return Type.String({
    pattern: '^#[0-9a-fA-F]{6}$',
    description: `a color of the ${mode} page as #rrggbb, at least 3:1 on its ground`,
  })
}

const links = Type.Partial(Type.Object({ trade: url, website: url, community: url }), closed)

const word = Type.String({ minLength: 1, maxLength: 32 })

const words = Type.Partial(
  Type.Object({ graveDig: word, graveDigs: word, dig: word, digger: word }),
  closed,
)

const colors = entryOf({
  chains: Type.Optional(
    Type.Array(color, {
      minItems: 1,
      maxItems: 4,
      description: 'of the chains in charts, in the order of the file',
    }),
  ),
  accent: Type.Optional(color),
})

const depthBlocks = Type.Integer({ minimum: 0, maximum: 10_000 })

const gate = Type.Union([
  Type.Literal('open'),
  entryOf({
    chain: chainName,
    minimumUsd: decimalText,
    depthBlocks,
    averagePriceMinutes: Type.Integer({ minimum: 1, maximum: 1_440 }),
  }),
])

const quotas = Object.fromEntries(
  tiers.map(({ name }) => [name, Type.Optional(Type.Integer({ minimum: 1 }))]),
) as Record<Tier, TOptional<TInteger>>

const share = entryOf({
  token: Type.Optional(Type.String()),
  supplyPerMille: Type.Integer({ minimum: 1, maximum: 1_000 }),
  depthBlocks: Type.Optional(depthBlocks),
})

const shares = Object.fromEntries(
  shareTiers.map(({ name }) => [name, Type.Optional(share)]),
) as Record<ShareTier, TOptional<typeof share>>

/** Schema of the operator's file; docs/ecosystem-file.md is generated from it. */
export const ecosystemFile = entryOf({
  service: entryOf({
    name: Type.String({
      pattern: '^[\\x21-\\x7e][\\x20-\\x7e]{0,63}$',
      description: 'a name of 1 to 64 printable ASCII characters',
    }),
    keyPrefix: Type.String({
      pattern: '^[a-z][a-z0-9]{1,11}$',
      description: 'a prefix of 2 to 12 lower-case letters and digits, such as "svc"',
    }),
    publicBaseUrl: text('^https?://[^\\s/?#]+/?$', 'a URL without a path'),
    pricingDocsUrl: Type.Optional(url),
    colors: Type.Optional(colors),
    links: Type.Optional(links),
    words: Type.Optional(words),
  }),
  chains: Type.Array(chainEntry, { minItems: 1 }),
  tokens: Type.Array(token, { minItems: 1 }),
  supply: Type.Optional(
    entryOf({
      burnAddresses: Type.Optional(Type.Array(addressText)),
      nonCirculating: Type.Optional(
        Type.Array(entryOf({ address: addressText, label: Type.String() })),
      ),
    }),
  ),
  ...eventLists,
  payment: Type.Optional(payment),
  quotas: Type.Optional(entryOf(quotas)),
  pricePerCallUsd: Type.Optional(decimalText),
  gate: Type.Optional(gate),
  ...shares,
})

export type EcosystemFile = Static<typeof ecosystemFile>
