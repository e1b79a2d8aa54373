import assert from 'node:assert/strict'
import { describeGate } from '#api/describe-service.ts'
import type { ServiceFacts } from '#api/service-facts.ts'
import { type Ecosystem, notConfigured, type Payment } from '#chains/ecosystem/ecosystem.ts'
import { eventKinds } from '#chains/kinds/kinds.ts'
import { showAddress } from '#domain/address.ts'
import { toUsd } from '#domain/money.ts'
import { tiers } from '#domain/tier.ts'
import { formatDecimal } from '#lib/decimal.ts'
import { toDate } from '#lib/time.ts'

export function serviceFactsOf(
  ecosystem: Ecosystem,
  input: { readonly version: string; readonly nowUnix: number },
): ServiceFacts {
  const { service, payment } = ecosystem
  return {
    ...service,
    version: input.version,
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
    payment: payment === null ? null : paymentFacts(payment, toDate(input.nowUnix)),
    notConfigured: notConfigured(ecosystem),
  }
}

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
      const requires = `an API key, minted by ${describeGate(gate)}`
      return [{ ...tier, requires }]
    }
    const share = ecosystem[name]
    if (share === null) return []
    const { supplyPerMille, token, chain } = share
    const requires = `an API key of a wallet with ${supplyPerMille / 10}% of the supply of ${token.symbol} on ${chain.name}`
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
