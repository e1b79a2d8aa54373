import { randomBytes, randomUUID } from 'node:crypto'
import type { KeyChange } from '#callers/keys/authorise.ts'
import { createFailureGuard } from '#callers/metering/abuse-guard.ts'
import { batchLoader } from '#callers/metering/batch-loader.ts'
import {
  type CreateMeteringDeps,
  createMetering,
  type Metering,
} from '#callers/metering/create-metering.ts'
import type { WalletNode } from '#chains/chain/contract-signature.ts'
import { AnswerCache } from '#chains/datasets/answer-cache.ts'
import type { DataDeps } from '#chains/datasets/data-route.ts'
import { readDeposits } from '#chains/datasets/deposits/queries.ts'
import { filePartsOf } from '#chains/datasets/file-parts.ts'
import { makeDollarPrices } from '#chains/datasets/prices/price-book.ts'
import type { Chain, Ecosystem, Payment } from '#chains/ecosystem/ecosystem.ts'
import type { FileParts } from '#chains/indexer/indexed-config/file-part.ts'
import { readIndexStatus } from '#chains/indexer/status.ts'
import { kindRoutes } from '#chains/kinds/endpoints.ts'
import {
  type HoldingsDeps,
  readHoldings,
  readShares,
  readTiers,
} from '#chains/statistics/holdings.ts'
import { newlyMinted } from '#chains/statistics/newly-minted.ts'
import { priceAt, statsRoute } from '#chains/statistics/stats.ts'
import { statsHistoryRoute } from '#chains/statistics/stats-history.ts'
import type { Address } from '#domain/address.ts'
import type { Caller } from '#domain/caller.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { type Clock, nextMidnight, unixNow } from '#lib/time.ts'
import { ContractProofs } from '#money/payments/contract-proofs.ts'
import type { DepositIndex } from '#money/payments/deposit.ts'
import { Notifier } from '#money/payments/notifier.ts'
import { paymentRequiredBody } from '#money/payments/offers.ts'
import { paymentsRoutes } from '#money/payments/prepay-routes.ts'
import { settlesPayment } from '#money/x402/settling/payment-store.ts'
import type { Route } from '#route/route.ts'
import { describeGate } from '#serving/api/describe-service.ts'
import type { GaugeReading, Metrics } from '#serving/api/metrics.ts'
import { streamRoute } from '#serving/stream/stream-route.ts'
import { absentOperations } from './absent-operations.ts'
import { indexGauges } from './gauges/index-gauges.ts'
import type { IndexProgress } from './gauges/index-progress.ts'
import { describeJobs } from './gauges/job-gauges.ts'
import { publicReadiness, readReadiness } from './gauges/read-readiness.ts'
import { makeRecentFindings } from './gauges/recent-findings.ts'
import { settlingGauges } from './gauges/settling-gauges.ts'
import type { Watched } from './gauges/store-gauges.ts'
import { watchAccounts } from './gauges/store-state.ts'
import { allJobs } from './jobs/job-list.ts'
import { openNodeBudget } from './node-budget.ts'
import type { ServeInput } from './roles/serve.ts'
import { serviceFactsOf } from './service-facts-of.ts'
import type { GuardSetting, Settings } from './settings.ts'
import { settlingOf } from './settling.ts'
import type { Stores } from './stores.ts'
import { VERSION } from './version.ts'

export interface Composed extends ServeInput {
  /** Wakes those who wait for a prepayment. */
  onPaymentsSettled(): void
}

export interface ComposeDeps {
  readonly ecosystem: Ecosystem
  readonly stores: Pick<Stores, 'register' | 'registerReads' | 'accounts' | 'admissions'>
  readonly settings: Pick<
    Settings,
    'guard' | 'trustedProxies' | 'metrics' | 'settling' | 'signingKeys' | 'webhookPrivate'
  >
  readonly clock: Clock
  report(error: unknown): void
  onKeyChange?: ((change: KeyChange) => void) | undefined
  warn?(message: string): void
  indexing?(): readonly IndexProgress[]
}

/** The composition of the API role: the only place that connects layers. */
export async function compose(deps: ComposeDeps): Promise<Composed> {
  const { ecosystem, stores, clock } = deps
  const data = composeData(deps)
  const index = {
    ...data,
    recentStatus: async () => (await data.answers.state())?.status,
    indexing: deps.indexing ?? (() => []),
  }
  const streams: { hub?: { readonly readers: number } } = {}
  const metrics = await openMetrics(deps, {
    gauges: [
      ...indexGauges(index),
      ...settlingGauges(() => x402?.gauged),
      {
        name: 'sexton_streams_open',
        help: 'Open streams of changes',
        read: async () => streams.hub?.readers ?? 0,
      },
    ],
    waitingCalls: () => access.meter.waiting(),
    readiness: () => readiness(),
  })
  const onHub = (hub: { readonly readers: number }) => Object.assign(streams, { hub })
  const metered = [...dataRoutes(data), streamRoute({ ...data, report: deps.report, onHub })]
  const access = composeAccess(
    deps,
    { ...data, ...stores },
    {
      metrics,
      signedIn: async (facts) => x402?.signedIn(facts),
      dataPaths: metered.map(({ path }) => path),
    },
  )
  hearOthers(deps, data, access)
  const facts = serviceFactsOf(ecosystem, { version: VERSION, nowUnix: unixNow(clock) })
  const minter = facts.gate === null ? null : describeGate(facts.gate)
  const { payment } = ecosystem
  const parts = { file: data.file, access, minter }
  const paying = payment === null ? undefined : composePayments(deps, { payment, ...parts })
  const x402 = await openX402(deps, access, paying)
  const signing = await openSigning(deps)
  const state = { ...index, ...watchRoles(deps) }
  const readiness = () => readReadiness(state)
  return {
    ...access,
    onPaymentsSettled: () => paying?.notifier.notify(),
    metrics,
    facts,
    readiness: async () => publicReadiness(await readiness(), ecosystem.chains),
    operatorReadiness: readiness,
    findings: makeRecentFindings(data),
    paymentRequired: (caller) =>
      paying === undefined
        ? quotaExceeded(clock)
        : { kind: 'payment-required', body: paying.quotaBody(caller) },
    absent: absentOperations(ecosystem, { signing, x402 }),
    jwks: signing?.jwks,
    ...x402,
    routes: [
      ...metered,
      ...access.routes,
      ...(signing?.routes ?? []),
      ...(paying?.routes ?? []),
      ...(x402?.routes ?? []),
    ],
  }
}

function watchRoles(deps: ComposeDeps) {
  const { stores, clock } = deps
  const jobs = { clock, lists: allJobs(deps) }
  return {
    accountsState: watchAccounts(stores.accounts, clock, 'serve'),
    jobStates: () => describeJobs(jobs),
  }
}

/** Subscribes to changes made by other processes: keys of replicas, blocks of the index. */
function hearOthers({ stores }: ComposeDeps, { answers }: Data, access: Metering): void {
  stores.accounts.listen?.('sexton_keys', access.keyChanged)
  stores.register.listen?.('sexton_blocks', () => answers.forgetState())
}

async function openX402(deps: ComposeDeps, access: Metering, paying: ComposedPayments | undefined) {
  const settling = settlingOf(deps)
  if (settling === undefined || paying === undefined) return undefined
  const { composeX402 } = await import('./compose-x402.ts')
  const { ecosystem, stores, clock, report } = deps
  return composeX402({
    gasPerDayGwei: settling.kind === 'wallet' ? BigInt(settling.gasPerDayGwei) : undefined,
    payment: paying.payment,
    ecosystem,
    accounts: stores.accounts,
    clock,
    access,
    quotaBody: paying.quotaBody,
    report,
  })
}

async function openSigning({ settings, ecosystem, stores, clock }: ComposeDeps) {
  if (settings.signingKeys === undefined) return undefined
  const [{ openSigningKeys }, { statementRoute }, { webhookRoutes }] = await Promise.all([
    import('./open-signing-keys.ts'),
    import('#money/statements/statement-route.ts'),
    import('#serving/webhooks/webhook-routes.ts'),
  ])
  const keys = await openSigningKeys(settings.signingKeys)
  const issuer = { ...ecosystem.service, payment: ecosystem.payment }
  const signing = { engine: stores.accounts, clock, keys }
  const allowPrivate = settings.webhookPrivate
  const routes = [
    statementRoute({ ...signing, issuer }),
    ...webhookRoutes({ ...signing, ecosystem, allowPrivate }),
  ]
  return { jwks: keys.jwks, routes }
}

async function openMetrics(
  deps: ComposeDeps,
  { gauges, ...watched }: Watched & { readonly gauges: readonly GaugeReading[] },
) {
  if (deps.settings.metrics === undefined) return undefined
  const [{ createMetrics }, { storeGauges }] = await Promise.all([
    import('#serving/api/metrics.ts'),
    import('./gauges/store-gauges.ts'),
  ])
  return createMetrics([...storeGauges({ ...deps, ...watched }), ...gauges])
}

type Data = DataDeps & HoldingsDeps

function composeData({ ecosystem, stores, clock }: ComposeDeps): Data {
  const { registerReads: register = stores.register } = stores
  const file = filePartsOf(ecosystem)
  return {
    register,
    ecosystem,
    clock,
    file,
    prices: makeDollarPrices(ecosystem.tokens),
    blockClock: openBlockClocks(),
    nodeBudget: openNodeBudget(clock),
    answers: new AnswerCache({
      clock,
      readStatus: () =>
        register.snapshot((reads) => readIndexStatus(reads, ecosystem.chains, file)),
    }),
  }
}

/** Imported when a block is asked for that the register no longer has. */
function openBlockClocks(): Data['blockClock'] {
  const clocks = new Map<Chain, ReturnType<Data['blockClock']>>()
  return (chain) => {
    const clock = clocks.get(chain) ?? openBlockClock(chain)
    clocks.set(chain, clock)
    return clock
  }
}

async function openBlockClock({ id, rpcUrls }: Chain) {
  const [{ BlockClock }, { openRpcSource }] = await Promise.all([
    import('#chains/chain/block-clock.ts'),
    import('#chains/chain/rpc-source.ts'),
  ])
  return new BlockClock(openRpcSource({ chainId: id, urls: rpcUrls }))
}

function dataRoutes(data: Data): readonly Route[] {
  return [
    statsRoute(data),
    statsHistoryRoute(data),
    ...kindRoutes({
      ...data,
      priceAt: priceAt(data),
      mintedOf: newlyMinted,
    }),
  ]
}

function composeAccess(
  { ecosystem, stores, settings, clock, report, warn, onKeyChange }: ComposeDeps,
  holdings: HoldingsDeps,
  hooks: {
    readonly metrics: Pick<Metrics, 'observeBatch' | 'observeCommit'> | undefined
    readonly signedIn: NonNullable<CreateMeteringDeps['signedIn']>
    readonly dataPaths: readonly string[]
  },
): Metering {
  return createMetering({
    engine: stores.accounts,
    admissions: stores.admissions,
    clock,
    randomBytes,
    serviceName: ecosystem.service.name,
    keyPrefix: ecosystem.service.keyPrefix,
    quotas: ecosystem.quotas,
    pricePerCall: ecosystem.pricePerCall,
    gate: gateOf(ecosystem.gate, holdings),
    paymentChainId: ecosystem.payment?.chain.id ?? null,
    shares: (wallet) => readShares(holdings, wallet),
    judgeTier: batchLoader((wallets: readonly Address[]) => readTiers(holdings, wallets)),
    trustedProxies: settings.trustedProxies,
    guardLimits: {
      general: toLimit(settings.guard.general),
      mint: toLimit(settings.guard.mint),
      gate: toLimit(settings.guard.claim),
      claim: toLimit(settings.guard.claim),
      webhook: WEBHOOK_LIMIT,
    },
    signedIn: hooks.signedIn,
    dataPaths: hooks.dataPaths,
    report,
    onKeyChange,
    ...(warn !== undefined && { warn }),
    ...(hooks.metrics && {
      onBatch: hooks.metrics.observeBatch,
      onCommit: hooks.metrics.observeCommit,
    }),
  })
}

function gateOf(gate: Ecosystem['gate'], deps: HoldingsDeps): CreateMeteringDeps['gate'] {
  if (gate === null || gate === 'open') return gate
  return {
    minimum: gate.minimum,
    async holdings(wallet) {
      const held = await readHoldings(deps, gate, wallet)
      return held.kind === 'ready'
        ? { ...held, tokens: held.tokens.map((token) => ({ ...token })) }
        : held
    },
  }
}

/** Registrations and challenges: 30 an hour, since each asks a URL that may be anyone's. */
const WEBHOOK_LIMIT = { burst: 30, refillPerSecond: 30 / 3_600 }

function toLimit(setting: GuardSetting) {
  return { burst: setting.burst, refillPerSecond: setting.perMinute / 60 }
}

interface ComposedPayments {
  readonly payment: Payment
  readonly notifier: Notifier
  readonly routes: readonly Route[]
  /** The 402 body that the API contract specifies. */
  quotaBody(caller: Caller): unknown
}

function composePayments(
  { ecosystem, stores, settings, clock, report }: ComposeDeps,
  input: {
    readonly payment: Payment
    readonly file: FileParts
    readonly access: Metering
    /** Who can mint a key, for the text of a 402. */
    readonly minter: string | null
  },
): ComposedPayments {
  const { payment, file, access, minter } = input
  const { pricePerCall, service } = ecosystem
  const settles = settlingOf({ ecosystem, settings }) !== undefined
  const { pricingDocsUrl } = service
  const deposits: DepositIndex = {
    canonical: (query) => readDeposits({ register: stores.register, payment, file }, query),
  }
  const readHead = async () => (await deposits.canonical({ txHashes: [] }))?.head.number
  const notifier = new Notifier(readHead, report)
  const offers = { payment, pricePerCall, pricingDocsUrl, minter, settles, clock }
  return {
    payment,
    notifier,
    quotaBody: (caller) => paymentRequiredBody(offers, caller),
    routes: paymentsRoutes({
      engine: stores.accounts,
      clock,
      newId: randomUUID,
      chainId: payment.chain.id,
      confirmations: payment.confirmations,
      verifyPayerProof: access.verifyPayerProof,
      contractProofs: new ContractProofs(() => walletNodes(payment), clock, proofGuard(clock)),
      deposits,
      isReserved: settlesPayment,
      notifier,
    }),
  }
}

/** Bounds how many unsigned proofs of contract wallets one address may post. */
function proofGuard(clock: Clock) {
  const message = 'too many proofs were not signed; post one again in a minute'
  return createFailureGuard({ clock, limit: { burst: 5, refillPerSecond: 1 / 12 }, message })
}

async function walletNodes({ chain: { id, rpcUrls } }: Payment): Promise<readonly WalletNode[]> {
  const { openSettlingRpc } = await import('#money/x402/settling/settling-rpc.ts')
  return rpcUrls.map((url) => openSettlingRpc({ id, rpcUrls: [url] }))
}

function quotaExceeded(clock: Clock): Refusal {
  const nowUnix = unixNow(clock)
  return refuse('quota_exceeded', 'the daily quota is used up; it resets at 00:00 UTC', {
    retryAfterSeconds: nextMidnight(nowUnix) - nowUnix,
  })
}
