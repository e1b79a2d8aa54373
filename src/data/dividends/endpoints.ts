import { Type } from 'typebox'
import { type Address, showAddress } from '#base/address.ts'
import { named } from '#base/schema.ts'
import type { Context } from '#context.ts'
import { dataRoute } from '#data/data-route.ts'
import { DIVIDENDS, dividends } from '#data/dividends/kind.ts'
import {
  checkList,
  type EventList,
  eventMembers,
  eventRow,
  type ListValues,
  listParameters,
  listRoute,
  readEventPage,
  showAccount,
} from '#data/event-lists.ts'
import {
  addSums,
  NOTHING,
  readSums,
  type Sums,
  sumTotal,
  sumTotals,
  sumWindows,
  type TokenSums,
} from '#data/events/sums.ts'
import {
  addressText,
  amountShape,
  amounts,
  dollarShape,
  dollars,
  nullable,
  toUsdOrNull,
  unixTime,
  unpricedCount,
  usdOrNull,
} from '#data/meta.ts'
import { addressParameter } from '#data/parameters.ts'
import { valueNow } from '#data/prices/price-book.ts'
import type { Connection } from '#db/engine.ts'
import { column, join, sql } from '#db/sql.ts'
import type { Route } from '#route.ts'

const list: EventList = {
  kind: dividends,
  path: '/api/dividends/recent',
  operationId: 'listPayouts',
  summary: 'Latest payout events',
  description:
    'Claims and distributions of every chain, newest first. Events with amount 0 are not listed.',
  row: eventRow('Payout', {
    kind: Type.Enum(['claim', 'distribution'], {
      description:
        '`claim`: paid to a wallet; `distribution`: put into the pot, which the totals do not count',
    }),
    recipient: nullable(addressText),
  }),
  own: (event) => ({ kind: event.kind, recipient: showAccount(event) }),
}

export const dividendEndpoints = {
  list,
  routes: (ctx: Context) => [dividendTotals(ctx), listRoute(ctx, list), walletClaims(ctx)],
}

const windowProperties = { ...dollarShape('usdAtPayout'), payoutCount: Type.Integer() }

const windowShape = named('PayoutSums', windowProperties)

const tokenWindowShape = named('TokenPayoutSums', {
  ...amountShape('amount'),
  ...windowProperties,
})

const totalsShape = named('DividendTotals', {
  ...dollarShape('totalUsdAtPayout'),
  totalUsdNow: usdOrNull,
  unpricedNowCount: unpricedCount,
  payoutCount: Type.Integer(),
  recipientCount: Type.Integer({ description: 'Distinct wallets over all chains and tokens' }),
  last24h: windowShape,
  last7d: windowShape,
  last30d: windowShape,
  tokens: Type.Array(
    named('TokenDividends', {
      token: Type.String(),
      chain: Type.String(),
      address: nullable(addressText),
      decimals: Type.Integer(),
      ...amountShape('amount'),
      ...dollarShape('usdAtPayout'),
      usdNow: usdOrNull,
      last24h: tokenWindowShape,
      last7d: tokenWindowShape,
      last30d: tokenWindowShape,
    }),
  ),
})

function dividendTotals(ctx: Context): Route {
  return dataRoute(ctx, {
    path: '/api/dividends/total',
    operationId: 'getDividendTotals',
    tag: 'Dividends',
    summary: 'Lifetime dividends',
    description:
      'Lifetime payouts over all reward tokens with their dollar values, and the last 24 hours, 7 and 30 days back from `meta.asOf`. Claims count; distributions into the pot do not, nor do events with amount 0.',
    parameters: {},
    data: totalsShape,
    async read({ connection, status: { asOfUnix } }) {
      const totals = await sumTotals(connection, DIVIDENDS)
      const windows = await sumWindows(connection, { dataset: DIVIDENDS, asOfUnix })
      const { lines, usdNow, unpricedNow } = await valueNow(ctx, connection, {
        asOfUnix,
        sums: totals,
      })
      const all = sumTotal(totals)
      const [counted] = await connection.run(
        sql`select accounts from event_account_counts where dataset = ${DIVIDENDS}`,
      )
      const tokens = lines.map(({ token, chainId, usdNow: usd, ...sums }) => {
        const chain = ctx.ecosystem.chains.find(({ id }) => id === chainId)
        const address = token.addresses.get(chain?.name ?? '')
        const { decimals, symbol } = token
        const isLine = (each: TokenSums) => each.token === symbol && each.chainId === chainId
        return {
          token: symbol,
          chain: chain?.name ?? String(chainId),
          address: address === undefined ? null : showAddress(address),
          decimals,
          ...amounts('amount', sums.amount, decimals),
          ...dollars('usdAtPayout', sums),
          usdNow: toUsdOrNull(usd),
          ...showWindows(windows, (found) => {
            const own = sumTotal(found, isLine)
            return { ...amounts('amount', own.amount, decimals), ...showWindow(own) }
          }),
        }
      })
      const data = {
        ...dollars('totalUsdAtPayout', all),
        totalUsdNow: toUsdOrNull(usdNow),
        unpricedNowCount: unpricedNow,
        payoutCount: all.events,
        recipientCount: counted === undefined ? 0 : column.integer(counted, 'accounts'),
        ...showWindows(windows, (found) => showWindow(sumTotal(found))),
        tokens,
      }
      return { data }
    },
  })
}

function showWindows(
  [day = [], week = [], month = []]: readonly (readonly TokenSums[])[],
  show: (found: readonly TokenSums[]) => object,
) {
  return { last24h: show(day), last7d: show(week), last30d: show(month) }
}

function showWindow(sums: Sums) {
  return { ...dollars('usdAtPayout', sums), payoutCount: sums.events }
}

const claimRow = eventRow('DividendClaim', {})

export const claimsShape = named('WalletClaims', {
  address: addressText,
  summary: named('ClaimSummary', {
    claimCount: Type.Integer(),
    ...dollarShape('usdAtClaim'),
    usdNow: usdOrNull,
    unpricedNowCount: unpricedCount,
    firstClaimUnix: nullable(unixTime),
    lastClaimUnix: nullable(unixTime),
    tokens: Type.Array(
      named('TokenClaims', {
        token: Type.String(),
        ...amountShape('amount'),
        ...dollarShape('usdAtClaim'),
        usdNow: usdOrNull,
        claimCount: Type.Integer(),
      }),
    ),
  }),
  claims: Type.Array(claimRow),
})

function walletClaims(ctx: Context): Route {
  return dataRoute(ctx, {
    path: '/api/dividends/{address}',
    operationId: 'getWalletClaims',
    tag: 'Dividends',
    summary: 'Claim history of a wallet',
    description:
      'All claims of one wallet, newest first, with their sums. A wallet that never claimed has zeros and an empty list. Events with amount 0 are not counted.',
    parameters: { address: addressParameter, ...listParameters(ctx.ecosystem) },
    data: claimsShape,
    paged: true,
    csv: {
      row: claimRow,
      rows: (data) => (data as { readonly claims: readonly object[] }).claims,
    },
    refusals: ['invalid_address', 'invalid_cursor'],
    check: (values) => checkList(claimsOfWallet(values)),
    async read({ connection, status, parameters }) {
      const { address } = parameters
      const list = claimsOfWallet(parameters)
      const { events, page } = await readEventPage(connection, { ...list, status })
      const claims = events.map((event) => eventMembers(event, status, ctx.ecosystem))
      const summary = await readClaims(ctx, connection, { address, asOfUnix: status.asOfUnix })
      return { data: { address: showAddress(address), summary, claims }, page }
    },
  })
}

function claimsOfWallet({ address, ...values }: ListValues & { readonly address: Address }) {
  return { dataset: DIVIDENDS, account: address, kind: 'claim', values }
}

/** Zeros if the wallet never claimed. */
async function readClaims(
  ctx: Context,
  connection: Connection,
  { address, asOfUnix }: { readonly address: Address; readonly asOfUnix: number },
) {
  const symbols = ctx.ecosystem.tokens.map((token) => token.symbol)
  const found = await connection.run(sql`
    select token, amount, usd, events, priced, first_unix, last_unix from event_account_sums
    where dataset = ${DIVIDENDS} and token in (${join(symbols)}) and account = ${address}
    order by token`)
  const sums = found.map((row) => ({ token: column.text(row, 'token'), ...readSums(row) }))
  const all = sums.reduce<Sums>(addSums, NOTHING)
  const { lines, usdNow, unpricedNow } = await valueNow(ctx, connection, { asOfUnix, sums })
  const times = (name: string) => found.map((row) => column.integer(row, name))
  return {
    claimCount: all.events,
    ...dollars('usdAtClaim', all),
    usdNow: toUsdOrNull(usdNow),
    unpricedNowCount: unpricedNow,
    firstClaimUnix: found.length === 0 ? null : Math.min(...times('first_unix')),
    lastClaimUnix: found.length === 0 ? null : Math.max(...times('last_unix')),
    tokens: lines.map(({ token, usdNow: usd, ...own }) => ({
      token: token.symbol,
      ...amounts('amount', own.amount, token.decimals),
      ...dollars('usdAtClaim', own),
      usdNow: toUsdOrNull(usd),
      claimCount: own.events,
    })),
  }
}
