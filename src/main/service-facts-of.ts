import assert from 'node:assert/strict'
import type { ServiceFacts } from '#api/service-facts.ts'
import { showAddress } from '#domain/address.ts'
import { toUsd } from '#domain/money.ts'
import {
  type Ecosystem,
  type HoldingGate,
  notConfigured,
  type Payment,
} from '#ecosystem/ecosystem.ts'
import { formatDecimal } from '#lib/decimal.ts'
import { toDate } from '#lib/time.ts'

export function serviceFactsOf(
  ecosystem: Ecosystem,
  input: { readonly version: string; readonly nowUnix: number },
): ServiceFacts {
  const { service, gate, payment } = ecosystem
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
    quotas: ecosystem.quotas,
    pricePerCallUsd: formatDecimal(ecosystem.pricePerCall, 6),
    gate: gate === null || gate === 'open' ? gate : gateFacts(ecosystem, gate),
    premium: premiumFacts(ecosystem),
    payment: payment === null ? null : paymentFacts(payment, toDate(input.nowUnix)),
    notConfigured: notConfigured(ecosystem),
  }
}

function gateFacts({ primary, secondary }: Ecosystem, gate: HoldingGate) {
  return {
    chain: gate.chain.name,
    minimumUsd: toUsd(gate.minimum),
    symbols: [primary, ...(secondary === null ? [] : [secondary])].map(({ symbol }) => symbol),
  }
}

function premiumFacts({ premium }: Ecosystem): ServiceFacts['premium'] {
  if (premium === null) return null
  return {
    chain: premium.chain.name,
    symbol: premium.token.symbol,
    supplyPct: premium.supplyPerMille / 10,
  }
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
