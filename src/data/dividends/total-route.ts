import { Type } from 'typebox'
import { showAddress } from '#base/address.ts'
import { named } from '#base/schema.ts'
import type { Context } from '#context.ts'
import { dataRoute } from '#data/data-route.ts'
import { DIVIDENDS } from '#data/dividends/kind.ts'
import {
  addressText,
  amounts,
  amountText,
  nullable,
  rawText,
  unpricedCount,
  usdOf,
  usdOrNull,
} from '#data/meta.ts'
import { type ValuedSums, valueNow } from '#data/value-now.ts'
import type { Connection } from '#db/engine.ts'
import { column, sql } from '#db/sql.ts'
import {
  dollarsOf,
  NOTHING,
  type Sums,
  sumTotals,
  sumWindows,
  type TokenSums,
  totalOf,
  unpricedOf,
} from '#index/events/sums.ts'
import type { Route } from '#route.ts'

const windowShape = named('PayoutSums', {
  usdAtPayout: usdOrNull,
  unpricedCount,
  payoutCount: Type.Integer(),
})

const tokenWindowShape = named('TokenPayoutSums', {
  amount: amountText,
  amountRaw: rawText,
  usdAtPayout: usdOrNull,
  unpricedCount,
  payoutCount: Type.Integer(),
})

const totalsShape = named('DividendTotals', {
  totalUsdAtPayout: usdOrNull,
  unpricedCount,
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
      amount: amountText,
      amountRaw: rawText,
      usdAtPayout: usdOrNull,
      unpricedCount,
      usdNow: usdOrNull,
      last24h: tokenWindowShape,
      last7d: tokenWindowShape,
      last30d: tokenWindowShape,
    }),
  ),
})

export function dividendTotals(ctx: Context): Route {
  return dataRoute(ctx, {
    path: '/api/dividends/total',
    operationId: 'getDividendTotals',
    tag: 'Dividends',
    summary: 'Lifetime dividends',
    description:
      'Lifetime payouts over all reward tokens with their dollar values, and the last 24 hours, 7 and 30 days back from `meta.asOf`. Claims count; distributions into the pot do not, nor do events with amount 0.',
    parameters: {},
    data: totalsShape,
    async read({ connection, status }) {
      const totals = await sumTotals(connection, DIVIDENDS)
      const [last24h = [], last7d = [], last30d = []] = await sumWindows(connection, {
        dataset: DIVIDENDS,
        asOfUnix: status.asOfUnix,
      })
      const { lines, usdNow, unpricedNow } = await valueNow(ctx, connection, {
        status,
        sums: totals,
      })
      const all = totalOf(totals)
      const data = {
        totalUsdAtPayout: usdOf(dollarsOf(all)),
        unpricedCount: unpricedOf(all),
        totalUsdNow: usdOf(usdNow),
        unpricedNowCount: unpricedNow,
        payoutCount: all.events,
        recipientCount: await countRecipients(connection),
        last24h: toWindow(totalOf(last24h)),
        last7d: toWindow(totalOf(last7d)),
        last30d: toWindow(totalOf(last30d)),
        tokens: lines.map((line) => showToken(ctx, line, { last24h, last7d, last30d })),
      }
      return { data }
    },
  })
}

type Windows = Readonly<Record<'last24h' | 'last7d' | 'last30d', readonly TokenSums[]>>

function showToken(
  { ecosystem }: Context,
  line: Omit<TokenSums, 'token'> & ValuedSums,
  { last24h, last7d, last30d }: Windows,
) {
  const chain = ecosystem.chains.find((each) => each.id === line.chainId)
  const address = line.token.addresses.get(chain?.name ?? '')
  const { decimals, symbol } = line.token
  const window = (sums: readonly TokenSums[]) =>
    toTokenWindow(
      sums.find((each) => each.token === symbol && each.chainId === line.chainId) ?? NOTHING,
      decimals,
    )
  return {
    token: symbol,
    chain: chain?.name ?? String(line.chainId),
    address: address === undefined ? null : showAddress(address),
    decimals,
    ...amounts('amount', line.amount, decimals),
    usdAtPayout: usdOf(dollarsOf(line)),
    unpricedCount: unpricedOf(line),
    usdNow: usdOf(line.usdNow),
    last24h: window(last24h),
    last7d: window(last7d),
    last30d: window(last30d),
  }
}

function toWindow(sums: Sums) {
  return {
    usdAtPayout: usdOf(dollarsOf(sums)),
    unpricedCount: unpricedOf(sums),
    payoutCount: sums.events,
  }
}

function toTokenWindow(sums: Sums, decimals: number) {
  return { ...amounts('amount', sums.amount, decimals), ...toWindow(sums) }
}

async function countRecipients(connection: Connection): Promise<number> {
  const [row] = await connection.run(
    sql`select accounts from event_account_counts where dataset = ${DIVIDENDS}`,
  )
  return row === undefined ? 0 : column.integer(row, 'accounts')
}
