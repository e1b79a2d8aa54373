import { randomBytes, randomUUID } from 'node:crypto'
import { type Access, createAccess } from '#access/create-access.ts'
import type { Readiness } from '#api/health-routes.ts'
import { createMetrics, type GaugeReading } from '#api/metrics.ts'
import type { DataDeps } from '#datasets/data-route.ts'
import { datasetRoutes } from '#datasets/datasets.ts'
import { readDeposits } from '#datasets/deposits/queries.ts'
import { readTotalSupply } from '#datasets/holders/queries.ts'
import { makeDollarPrices } from '#datasets/prices/price-book.ts'
import { makeRecentStatus } from '#datasets/recent-status.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import type { Route } from '#http/route.ts'
import { conditionOf } from '#indexer/status.ts'
import { type Clock, unixNow } from '#lib/clock.ts'
import { paymentRequiredBody } from '#payments/offers.ts'
import { paymentsRoutes } from '#payments/prepay-routes.ts'
import { Waker } from '#payments/waker.ts'
import { type HoldingsDeps, readHoldings, readPremium } from '#statistics/holdings.ts'
import { priceAt, statsRoute } from '#statistics/stats.ts'
import { statsHistoryRoute } from '#statistics/stats-history.ts'
import type { ServeInput } from './serve.ts'
import { serviceFactsOf } from './service-facts-of.ts'
import type { GuardSetting, Settings } from './settings.ts'
import type { Stores } from './stores.ts'
import { VERSION } from './version.ts'

export interface Composed extends ServeInput {
  /** Wakes those who wait for a prepayment. */
  readonly waker: Waker
}

export interface ComposeDeps {
  readonly ecosystem: Ecosystem
  readonly stores: Pick<Stores, 'register' | 'accounts'>
  readonly settings: Pick<Settings, 'guard' | 'trustedProxies'>
  readonly clock: Clock
}

/** Wires the API role: the one place where the layers' needs of one another are met. */
export function compose(deps: ComposeDeps): Composed {
  const { ecosystem, stores, clock } = deps
  const data = composeData(deps)
  const metrics = createMetrics([lagGauge(data, clock)])
  const access = composeAccess(deps, { ...data, ...stores }, metrics.observeBatch)
  const waker = new Waker()
  const offers = {
    payment: ecosystem.payment,
    pricePerCall: ecosystem.pricePerCall,
    pricingDocsUrl: ecosystem.service.pricingDocsUrl,
    clock,
  }
  return {
    ...access,
    waker,
    metrics,
    facts: serviceFactsOf(ecosystem, { version: VERSION, nowUnix: unixNow(clock) }),
    routes: [...dataRoutes(data), ...access.routes, ...prepayRoutes(deps, access, waker)],
    readiness: () => readReadiness(deps, data),
    paymentRequired: () => ({
      kind: 'payment-required',
      body: paymentRequiredBody(offers, 'Daily quota exhausted and no prepaid balance.'),
    }),
  }
}

type Data = DataDeps & HoldingsDeps

function composeData({ ecosystem, stores, clock }: ComposeDeps): Data {
  const { register } = stores
  return {
    register,
    ecosystem,
    clock,
    prices: makeDollarPrices(ecosystem.tokens),
    recentStatus: makeRecentStatus({ register, ecosystem, clock }),
  }
}

function dataRoutes(data: Data): readonly Route[] {
  return [
    statsRoute(data),
    statsHistoryRoute(data),
    ...datasetRoutes({
      ...data,
      priceAt: priceAt(data),
      mintedOf: async (connection, symbol) => (await readTotalSupply(connection, symbol)).minted,
    }),
  ]
}

function composeAccess(
  { ecosystem, stores, settings, clock }: ComposeDeps,
  holdings: HoldingsDeps,
  onBatch: (size: number) => void,
): Access {
  return createAccess({
    engine: stores.accounts,
    clock,
    randomBytes,
    serviceName: ecosystem.service.name,
    keyPrefix: ecosystem.service.keyPrefix,
    quotas: ecosystem.quotas,
    pricePerCall: ecosystem.pricePerCall,
    gateMinimum: ecosystem.gate.minimum,
    paymentChainId: ecosystem.payment.chain.id,
    holdings: async (wallet) => {
      const held = await readHoldings(holdings, wallet)
      return held.kind === 'ready'
        ? { ...held, tokens: held.tokens.map((token) => ({ ...token })) }
        : held
    },
    isPremium: (wallet) => readPremium(holdings, wallet),
    trustedProxies: settings.trustedProxies,
    guardLimits: {
      general: toLimit(settings.guard.general),
      mint: toLimit(settings.guard.mint),
      claim: toLimit(settings.guard.claim),
    },
    onBatch,
  })
}

function toLimit(setting: GuardSetting) {
  return { burst: setting.burst, refillPerSecond: setting.perMinute / 60 }
}

function prepayRoutes(deps: ComposeDeps, access: Access, waker: Waker): readonly Route[] {
  const { payment } = deps.ecosystem
  return paymentsRoutes({
    engine: deps.stores.accounts,
    clock: deps.clock,
    newId: randomUUID,
    chainId: payment.chain.id,
    confirmations: payment.confirmations,
    findKey: access.findKey,
    verifyPayerProof: access.verifyPayerProof,
    deposits: {
      canonical: (query) => readDeposits({ register: deps.stores.register, payment }, query),
    },
    waker,
  })
}

async function readReadiness(deps: ComposeDeps, data: Data): Promise<Readiness> {
  const parts: Record<string, string> = {}
  const index = await data.recentStatus().catch(() => undefined)
  for (const chain of deps.ecosystem.chains) {
    const status = index?.chains.find((each) => each.chain.id === chain.id)
    parts[`chain ${chain.name}`] =
      status === undefined
        ? 'not indexed yet'
        : `${conditionOf(status, unixNow(deps.clock))} at block ${status.blockNumber} of ${status.headNumber}`
  }
  const accounts = await deps.stores.accounts
    .read({ kind: 'sql', parts: ['select 1'], values: [] })
    .then(
      () => 'ok',
      () => 'cannot be reached',
    )
  const ready = accounts === 'ok' && index !== undefined
  return { ready, parts: { ...parts, accounts } }
}

function lagGauge(data: Data, clock: Clock): GaugeReading {
  return {
    name: 'sexton_chain_lag_seconds',
    help: 'Age of the newest indexed block by chain',
    async read() {
      const index = await data.recentStatus()
      const lags = (index?.chains ?? []).map(
        ({ chain, blockTimeUnix }) => [chain.name, unixNow(clock) - blockTimeUnix] as const,
      )
      return Object.fromEntries(lags)
    },
  }
}
