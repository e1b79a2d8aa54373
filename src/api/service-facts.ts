import assert from 'node:assert/strict'
import { type Ecosystem, notConfigured, type Payment } from '#chains/ecosystem/ecosystem.ts'
import { eventKinds } from '#chains/kinds/kinds.ts'
import { oncePerContext } from '#context.ts'
import { showAddress } from '#domain/address.ts'
import { formatDecimal, toUsd } from '#domain/money.ts'
import type { PageColors, PageLinks } from '#domain/page-settings.ts'
import { type Tier, tiers } from '#domain/tier.ts'
import { toDate, unixNow } from '#lib/time.ts'
import { VERSION } from '#lib/version.ts'
import { describeMinter } from '#money/payments/offers.ts'

export interface ServiceFacts {
  readonly name: string
  readonly version: string
  /** Has no trailing slash. */
  readonly publicBaseUrl: string
  readonly pricingDocsUrl: string
  readonly keyPrefix: string
  readonly colors: PageColors
  readonly links: PageLinks
  readonly chains: readonly {
    readonly name: string
    readonly chainId: number
    readonly caip2: string
    readonly explorerUrl: string | null
  }[]
  readonly tokens: readonly {
    readonly symbol: string
    readonly name: string
    readonly role: 'primary' | 'secondary' | 'reward'
    readonly decimals: number
    /** EIP-55 address by chain name. */
    readonly addresses: Readonly<Record<string, string>>
  }[]
  readonly eventKinds: readonly {
    readonly part: string
    readonly noun: string
    readonly tag: { readonly name: string; readonly description: string }
  }[]
  readonly tiers: readonly {
    readonly tier: Tier
    /** Calls per UTC day. */
    readonly dailyQuota: number
    readonly requires: string
  }[]
  /** Decimal US dollars, such as `0.0001`. */
  readonly pricePerCallUsd: string
  /** Who can mint a key: holders, anyone (`open`), or no one (null). */
  readonly gate:
    | {
        readonly chain: string
        readonly minimumUsd: number
        readonly symbols: readonly string[]
      }
    | 'open'
    | null
  readonly payment: {
    readonly network: string
    readonly asset: string
    readonly symbol: string
    readonly payTo: string
    readonly confirmations: number
  } | null
  readonly notConfigured: readonly string[]
}

/** What documents and `/api/meta` say about this service. */
export const factsOf = oncePerContext(({ ecosystem, clock }): ServiceFacts => {
  const { service, payment } = ecosystem
  return {
    ...service,
    version: VERSION,
    chains: ecosystem.chains.map(({ name, id, explorerUrl }) => ({
      name,
      chainId: id,
      caip2: `eip155:${id}`,
      explorerUrl,
    })),
    tokens: ecosystem.tokens.map(({ symbol, name, role, decimals, addresses }) => ({
      symbol,
      name,
      role,
      decimals,
      addresses: Object.fromEntries(
        [...addresses].map(([chain, address]) => [chain, showAddress(address)]),
      ),
    })),
    eventKinds: eventKinds.map(({ part, noun, tag }) => ({ part, noun, tag })),
    tiers: tiersOf(ecosystem, gateFacts(ecosystem)),
    pricePerCallUsd: formatDecimal(ecosystem.pricePerCall, 6),
    gate: gateFacts(ecosystem),
    payment: payment === null ? null : paymentFacts(payment, toDate(unixNow(clock))),
    notConfigured: notConfigured(ecosystem),
  }
})

function gateFacts({ primary, secondary, gate }: Ecosystem): ServiceFacts['gate'] {
  if (gate === null || gate === 'open') return gate
  return {
    chain: gate.chain.name,
    minimumUsd: toUsd(gate.minimum),
    symbols: [primary, ...(secondary === null ? [] : [secondary])].map(({ symbol }) => symbol),
  }
}

function tiersOf(ecosystem: Ecosystem, gate: ServiceFacts['gate']): ServiceFacts['tiers'] {
  return tiers.flatMap(({ name, needs }) => {
    const tier = { tier: name, dailyQuota: ecosystem.quotas[name] }
    if (needs === 'nothing') return [{ ...tier, requires: 'nothing; counted per address' }]
    if (gate === null) return []
    if (needs === 'key') {
      const requires = `an API key, minted by ${describeMinter(ecosystem)}`
      return [{ ...tier, requires }]
    }
    const share = ecosystem[name]
    if (share === null) return []
    const { supplyPerMille, token } = share
    const requires = `an API key of a wallet with ${supplyPerMille / 10}% of the supply of ${token.symbol}`
    return [{ ...tier, requires }]
  })
}

function paymentFacts(payment: Payment, date: string) {
  return {
    network: payment.chain.name,
    asset: showAddress(payment.asset),
    symbol: payment.symbol,
    payTo: payToOn(payment, date),
    confirmations: payment.confirmations,
  }
}

/** The newest address in force. */
function payToOn({ payTo }: Payment, date: string): string {
  const current = payTo.findLast(({ since }) => since <= date) ?? payTo[0]
  assert(current !== undefined, 'the ecosystem file names an address to pay to')
  return showAddress(current.address)
}
