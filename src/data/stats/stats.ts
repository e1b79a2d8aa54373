import { Type } from 'typebox'
import { showAddress } from '#base/address.ts'
import {
  formatDecimal,
  percentage,
  toShare,
  toUsdPrice,
  toUsdPriceExact,
  toValueExact,
  valueAt,
} from '#base/money.ts'
import { type Refusal, refuse } from '#base/refusal.ts'
import { named, recordOf } from '#base/schema.ts'
import { DAY_SECONDS } from '#base/time.ts'
import { isTracked } from '#base/token.ts'
import type { Context } from '#context.ts'
import { newlyMinted } from '#data/burns/dataset.ts'
import { BURNS } from '#data/burns/kind.ts'
import { dataRoute, getAnswerCache } from '#data/data-route.ts'
import { DIVIDENDS } from '#data/dividends/kind.ts'
import {
  addSums,
  countUnpriced,
  NOTHING,
  sumTotal,
  sumTotals,
  type TokenSums,
  toDollars,
} from '#data/events/sums.ts'
import { GRAVE_DIGS } from '#data/grave-digs/kind.ts'
import {
  listChains,
  refuseElsewhere,
  type ScopeQuery,
  scopeParameters,
  whyUnknown,
} from '#data/holders/endpoints.ts'
import {
  countHolders,
  readTotalSupply,
  sumCirculating,
  sumTotalSupply,
} from '#data/holders/queries.ts'
import {
  amountShape,
  amountShapeOrNull,
  amounts,
  amountText,
  areHoldersKnown,
  areTransfersReadable,
  buildMeta,
  dollarShape,
  dollars,
  metaSchema,
  nullable,
  priceNumber,
  priceText,
  type RegisterState,
  rawText,
  toUsdOrNull,
  unixTime,
  unpricedCount,
  usdOrNull,
} from '#data/meta.ts'
import { latestPrice, PRICE_GAPS, valueNow } from '#data/prices/price-book.ts'
import type { Connection } from '#db/engine.ts'
import type { PricedToken } from '#ecosystem/ecosystem.ts'
import { type IndexStatus, judgeCondition } from '#index/status.ts'
import {
  type Answer,
  answer,
  defineRoute,
  type Effective,
  JSON_TYPE,
  preferredType,
  type Route,
  TEXT_TYPE,
} from '#route.ts'

const tokenShape = named('TokenStats', {
  symbol: Type.String(),
  name: Type.String(),
  role: Type.Enum(['primary', 'secondary', 'reward']),
  decimals: Type.Integer(),
  addresses: recordOf(Type.String()),
  totalSupply: nullable(amountText),
  circulatingSupply: nullable(amountText),
  totalBurned: nullable(amountText),
  holderCount: nullable(Type.Integer()),
  priceUsd: nullable(priceNumber),
  priceUsdExact: nullable(priceText),
  priceUnknown: nullable(Type.Enum([...PRICE_GAPS]), {
    description:
      'Why there is no price. `no_source`: none is configured; `no_event`: its source has stated none yet; `no_liquidity`, `low_liquidity`: nothing, or too little, can be traded; `stale`: the feed is too old',
  }),
  marketCapUsd: usdOrNull,
  marketCapUsdExact: nullable(priceText),
})

export const statsShape = named('Stats', {
  ...amountShapeOrNull('totalBurned'),
  burnedPct: nullable(Type.Number(), {
    description:
      'Of everything newly minted; null while the supply is unknown, or if bridges brought all of it',
  }),
  ...amountShapeOrNull('circulatingSupply'),
  ...amountShapeOrNull('totalSupply'),
  holderCount: nullable(Type.Integer()),
  lifetimeDividendsUsdAtPayout: usdOrNull,
  lifetimeDividendsUnpricedCount: unpricedCount,
  lifetimeDividendsUsdNow: usdOrNull,
  lifetimeDividendsUnpricedNowCount: unpricedCount,
  lifetimeDividends: Type.Array(
    named('LifetimeDividends', {
      token: Type.String(),
      ...amountShape('amount'),
      ...dollarShape('usdAtPayout'),
      usdNow: usdOrNull,
    }),
  ),
  prices: recordOf(
    named('TokenPrice', {
      usd: priceNumber,
      usdExact: priceText,
      change24hPct: nullable(Type.Number()),
      asOfUnix: unixTime,
      source: Type.String(),
    }),
  ),
  graveDigs: named('GraveDigSums', {
    count: Type.Integer(),
    ...amountShape('totalClaimed'),
  }),
  tokens: Type.Array(tokenShape),
})

export function statsRoute(ctx: Context): Route {
  return dataRoute(ctx, {
    path: '/api/stats',
    operationId: 'getStats',
    tag: 'Statistics',
    summary: 'Current statistics',
    description:
      'Total burned, supply, holders, lifetime dividends, prices and grave digs as of the newest indexed block.',
    parameters: {},
    data: statsShape,
    read: async ({ connection, status }) => ({
      data: await readStats(ctx, connection, status),
    }),
  })
}

async function readStats(ctx: Context, connection: Connection, status: IndexStatus) {
  const { primary, tokens } = ctx.ecosystem
  const { asOfUnix } = status
  const burns = await sumTotals(connection, BURNS)
  const figures = new Map<string, Figures>()
  for (const token of tokens)
    figures.set(token.symbol, await readFigures(ctx, connection, { token, status, burns }))
  const payouts = await sumTotals(connection, DIVIDENDS)
  const perToken = [...Map.groupBy(payouts, ({ token }) => token)]
  const sums = perToken.map(([token, own]) => ({ token, ...own.reduce(addSums, NOTHING) }))
  const { lines, usdNow, unpricedNow } = await valueNow(ctx, connection, { asOfUnix, sums })
  const digs = sumTotal(await sumTotals(connection, GRAVE_DIGS), ofToken(primary))
  const ofPrimary = figures.get(primary.symbol)
  const { burned = null, circulating = null, total = null, holderCount = null } = ofPrimary ?? {}
  const { decimals } = primary
  const isMintKnown = burned !== null && total !== null
  return {
    ...amounts('totalBurned', burned, decimals),
    burnedPct: isMintKnown ? toShare(burned, await newlyMinted(connection, primary.symbol)) : null,
    ...amounts('circulatingSupply', circulating, decimals),
    ...amounts('totalSupply', total, decimals),
    holderCount,
    lifetimeDividendsUsdAtPayout: toUsdOrNull(toDollars(sumTotal(payouts))),
    lifetimeDividendsUnpricedCount: countUnpriced(sumTotal(payouts)),
    lifetimeDividendsUsdNow: toUsdOrNull(usdNow),
    lifetimeDividendsUnpricedNowCount: unpricedNow,
    lifetimeDividends: lines.map(({ token, usdNow: usd, ...own }) => ({
      token: token.symbol,
      ...amounts('amount', own.amount, token.decimals),
      ...dollars('usdAtPayout', own),
      usdNow: toUsdOrNull(usd),
    })),
    prices: await showPrices(ctx, connection, { figures, asOfUnix }),
    graveDigs: { count: digs.events, ...amounts('totalClaimed', digs.amount, decimals) },
    tokens: [...figures.values()].map(showToken),
  }
}

function ofToken(token: PricedToken): (sums: TokenSums) => boolean {
  return (sums) => sums.token === token.symbol
}

/** Null for reward tokens, of which only payouts are indexed, and while unknown. */
type Figures = Awaited<ReturnType<typeof readFigures>>

async function readFigures(
  ctx: Context,
  connection: Connection,
  input: {
    readonly token: PricedToken
    readonly status: IndexStatus
    readonly burns: readonly TokenSums[]
  },
) {
  const { token, status, burns } = input
  const isKnown = isTracked(token) && areHoldersKnown(status, token)
  const supply = isKnown ? await readTotalSupply(connection, token.symbol) : null
  return {
    token,
    latest: await latestPrice(ctx, connection, token.symbol, status.asOfUnix),
    total: supply && sumTotalSupply(supply),
    circulating: supply && sumCirculating(supply),
    holderCount: isKnown ? await countHolders(connection, token.symbol) : null,
    burned:
      isTracked(token) && areTransfersReadable(status, token)
        ? sumTotal(burns, ofToken(token)).amount
        : null,
  }
}

async function showPrices(
  ctx: Context,
  connection: Connection,
  input: { readonly figures: ReadonlyMap<string, Figures>; readonly asOfUnix: number },
) {
  const prices: Record<string, unknown> = {}
  for (const [symbol, { latest: now }] of input.figures) {
    if ('gap' in now) continue
    const before = await latestPrice(ctx, connection, symbol, input.asOfUnix - DAY_SECONDS)
    prices[symbol] = {
      usd: toUsdPrice(now.price),
      usdExact: toUsdPriceExact(now.price),
      change24hPct: 'gap' in before ? null : changePct(before.price, now.price),
      asOfUnix: now.asOfUnix,
      source: now.source,
    }
  }
  return prices
}

function changePct(before: bigint, now: bigint): number {
  return now >= before ? percentage(now - before, before) : -percentage(before - now, before)
}

function showToken({ token, latest, total, circulating, holderCount, burned }: Figures) {
  const { symbol, name, role, decimals, addresses } = token
  const price = 'gap' in latest ? null : latest.price
  const show = (amount: bigint | null) => (amount === null ? null : formatDecimal(amount, decimals))
  const isValued = circulating !== null && price !== null
  return {
    symbol,
    name,
    role,
    decimals,
    addresses: Object.fromEntries(
      [...addresses].map(([chain, address]) => [chain, showAddress(address)]),
    ),
    totalSupply: show(total),
    circulatingSupply: show(circulating),
    holderCount,
    marketCapUsd: isValued ? toUsdOrNull(valueAt(circulating, decimals, price)) : null,
    marketCapUsdExact: isValued ? toValueExact(circulating, decimals, price) : null,
    totalBurned: show(burned),
    priceUsd: price === null ? null : toUsdPrice(price),
    priceUsdExact: price === null ? null : toUsdPriceExact(price),
    priceUnknown: 'gap' in latest ? latest.gap : null,
  }
}

const FIGURES = {
  total: {
    of: sumTotalSupply,
    what: 'Total supply: the sum of all balances, what burn addresses hold included',
  },
  circulating: {
    of: sumCirculating,
    what: 'Circulating supply: the total without what burn addresses and `supply.nonCirculating` hold',
  },
} as const

type FigureName = keyof typeof FIGURES

/** Listing sites ask every minute. */
const CACHED = { 'Cache-Control': 'private, max-age=30' }

/** Plain numbers as listing sites read them: documents, free and the same for everyone. */
export function supplyRoutes(ctx: Context): readonly Route[] {
  return [supplyRoute(ctx, 'total'), supplyRoute(ctx, 'circulating')]
}

function supplyRoute(ctx: Context, figure: FigureName): Route {
  const operationId = figure === 'total' ? 'getTotalSupply' : 'getCirculatingSupply'
  const { what } = FIGURES[figure]
  return defineRoute({
    method: 'GET',
    path: `/api/supply/${figure}`,
    operationId,
    tag: 'Statistics',
    summary: figure === 'total' ? 'Total supply as a number' : 'Circulating supply as a number',
    description: `${what}, in token units, as /api/stats has it: the number alone as text/plain, or JSON by \`Accept: application/json\`. Never metered, at most a minute old. While it is not known, or a chain of the token is not up to date, it is 503.`,
    metered: false,
    open: true,
    plain: true,
    parameters: scopeParameters(ctx.ecosystem),
    answers: { 200: { description: what, schema: shape } },
    refusals: ['data_not_ready'],
    check: ({ parameters }) => refuseElsewhere(parameters),
    handle({ parameters, effective, question, headers }) {
      const type = preferredType(headers.accept?.toString(), [TEXT_TYPE, JSON_TYPE])
      const representation = type === JSON_TYPE ? 'json' : 'text'
      const asked = { ...parameters, figure, type, query: effective }
      return getAnswerCache(ctx).answer(
        { operationId, parameters: question, representation },
        (state, connection) => readSupply(ctx, connection, { ...asked, state }),
      )
    },
  })
}

const shape = Type.Object({
  data: named('Supply', {
    token: Type.String(),
    chain: Type.String({ description: 'A name, or `all`' }),
    supply: amountText,
    supplyRaw: rawText,
  }),
  meta: metaSchema,
})

interface Wanted extends ScopeQuery {
  readonly figure: FigureName
  readonly type: string
  readonly query: Readonly<Record<string, Effective>>
  readonly state: RegisterState
}

async function readSupply(
  { ecosystem }: Context,
  connection: Connection,
  asked: Wanted,
): Promise<Answer | Refusal> {
  const { figure, token, chain, type, query, state } = asked
  const { status, nowUnix } = state
  const unknown = whyUnknown(status, asked)
  if (unknown !== undefined) return notReady(unknown)
  const old = listChains(status, asked).find((each) => judgeCondition(each, nowUnix) !== 'live')
  // A number alone cannot say that it is old.
  if (old !== undefined) return notReady(`The index of ${old.chain.name} is not up to date.`)
  const supply = FIGURES[figure].of(await readTotalSupply(connection, token.symbol, chain?.id))
  const data = {
    token: token.symbol,
    chain: chain?.name ?? 'all',
    ...amounts('supply', supply, token.decimals),
  }
  const more = { contentType: type, headers: CACHED }
  if (type === TEXT_TYPE) return answer(200, data.supply, more)
  return answer(200, JSON.stringify({ data, meta: buildMeta(ecosystem, state, query) }), more)
}

function notReady(message: string): Refusal {
  return refuse('data_not_ready', message)
}
