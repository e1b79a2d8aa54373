import type { ServiceFacts } from './service-facts.ts'

/** The text at the head of the documentation, in Markdown. Its headings are anchors of the page. */
export function describeService(facts: ServiceFacts): string {
  const { quotas, gate, premium, payment, pricePerCallUsd } = facts
  const perDollar = Math.floor(1 / Number(pricePerCallUsd))
  return `Public REST API for the on-chain history and statistics of a token ecosystem: burns, dividends, holders, prices and grave digs. Anyone can call it without a key.

## Quick start

\`\`\`sh
curl ${facts.publicBaseUrl}/api/stats
curl '${facts.publicBaseUrl}/api/burns?period=7d'
curl -H 'Authorization: Bearer ${facts.keyPrefix}_0123abcd_...' ${facts.publicBaseUrl}/api/usage
\`\`\`

## Conventions

- Data endpoints answer \`{ "data": ..., "meta": ... }\`. \`meta.asOf\` says how fresh the data is, \`meta.query\` which parameters were in force.
- Token amounts come twice: \`amount\` as a decimal string in whole tokens, \`amountRaw\` as an integer string in base units. A missing USD price is \`null\`, never 0.
- Chains are named in lower case (\`${facts.chains[0]?.name ?? 'base'}\`); requests may also use the id or CAIP-2. Tokens are named by symbol or address.
- Lists are newest first and go on with \`cursor\`. Series and lists can be had as CSV with \`format=csv\`.
- Errors are \`application/problem+json\` with a stable code in \`error\`; the page at \`type\` explains each. An ETag sent back in \`If-None-Match\` makes an unchanged answer a free 304.

## Quotas

| Tier | Calls per UTC day | Needs |
|---|---|---|
| anonymous | ${quotas.anonymous} | nothing; counted per address |
| free | ${quotas.free} | an API key; quota shared by all keys of the wallet |
| premium | ${quotas.premium} | a key of a wallet with ${premium.supplyPct}% of the supply of ${premium.symbol} on ${premium.chain} |

Only data calls answered 2xx count; errors and 304 are free. Every response says where you stand in \`X-RateLimit-Limit\`, \`-Remaining\`, \`-Reset\` and \`-Tier\`; \`GET /api/usage/history\` tells the days before, each key by itself, and how long a balance lasts. A key is minted with a wallet signature (\`POST /api/keys\`) by a wallet that holds at least ${gate.minimumUsd} USD of the ecosystem's two tokens on ${gate.chain}.

## Pricing

Calls beyond the daily quota cost **${pricePerCallUsd} USD each** (${perDollar} calls per 1 USD), paid in advance in ${payment.symbol} on ${payment.network}. There is no subscription and no card.

1. Send ${payment.symbol} (\`${payment.asset}\` on ${payment.network}) from the wallet that owns the key to \`${payment.payTo}\`.
2. Register the transaction for a key of yours with \`POST /api/sessions/prepay\`; the balance belongs to the key.
3. After ${payment.confirmations} blocks the balance of the key is credited; calls then go on without a 402 until it is empty.

Without quota and balance a data call answers 402 with the payment options.
`
}
