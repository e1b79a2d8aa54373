import { Type } from 'typebox'
import { type Address, showAddress } from '#base/address.ts'
import type { MicroUsd } from '#base/money.ts'
import { named } from '#base/schema.ts'
import type { Context } from '#context.ts'
import { dataRoute } from '#data/data-route.ts'
import { DIVIDENDS } from '#data/dividends/kind.ts'
import {
  checkList,
  eventMembers,
  eventRow,
  type ListValues,
  listParameters,
  readEventPage,
} from '#data/event-lists.ts'
import {
  addressText,
  amounts,
  amountText,
  nullable,
  rawText,
  unixTime,
  unpricedCount,
  usdOf,
  usdOrNull,
} from '#data/meta.ts'
import { addressParameter } from '#data/parameters.ts'
import { type ValuedSums, valueNow } from '#data/value-now.ts'
import type { Connection } from '#db/engine.ts'
import { column, join, sql } from '#db/sql.ts'
import { addSums, dollarsOf, NOTHING, readSums, type Sums, unpricedOf } from '#index/events/sums.ts'
import type { Route } from '#route.ts'

const claimRow = eventRow('DividendClaim', {})

const claimsShape = named('WalletClaims', {
  address: addressText,
  summary: named('ClaimSummary', {
    claimCount: Type.Integer(),
    usdAtClaim: usdOrNull,
    unpricedCount,
    usdNow: usdOrNull,
    unpricedNowCount: unpricedCount,
    firstClaimUnix: nullable(unixTime),
    lastClaimUnix: nullable(unixTime),
    tokens: Type.Array(
      named('TokenClaims', {
        token: Type.String(),
        amount: amountText,
        amountRaw: rawText,
        usdAtClaim: usdOrNull,
        unpricedCount,
        usdNow: usdOrNull,
        claimCount: Type.Integer(),
      }),
    ),
  }),
  claims: Type.Array(claimRow),
})

export function walletClaims(ctx: Context): Route {
  const symbols = ctx.ecosystem.tokens.map((token) => token.symbol)
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
    csv: { row: claimRow, rows: claimsOf },
    refusals: ['invalid_address', 'invalid_cursor'],
    check: (values) => checkList(claimsOfWallet(values)),
    async read({ connection, status, parameters }) {
      const { address } = parameters
      const list = claimsOfWallet(parameters)
      const { events, page } = await readEventPage(connection, { ...list, status })
      const claims = events.map((event) => eventMembers(event, status, ctx.ecosystem))
      const summary = await readClaimSummary(connection, address, symbols)
      const valued = await valueNow(ctx, connection, { status, sums: summary.tokens })
      const shown = showSummary(summary, valued)
      return { data: { address: showAddress(address), summary: shown, claims }, page }
    },
  })
}

function claimsOfWallet({ address, ...values }: ListValues & { readonly address: Address }) {
  return { dataset: DIVIDENDS, account: address, kind: 'claim', values }
}

function showSummary(
  summary: ClaimSummary,
  {
    lines,
    usdNow,
    unpricedNow,
  }: {
    readonly lines: readonly ValuedSums[]
    readonly usdNow: MicroUsd | null
    readonly unpricedNow: number
  },
) {
  const all = { amount: 0n, events: summary.claims, ...summary }
  return {
    claimCount: summary.claims,
    usdAtClaim: usdOf(dollarsOf(all)),
    unpricedCount: unpricedOf(all),
    usdNow: usdOf(usdNow),
    unpricedNowCount: unpricedNow,
    firstClaimUnix: summary.firstUnix,
    lastClaimUnix: summary.lastUnix,
    tokens: lines.map((line) => ({
      token: line.token.symbol,
      ...amounts('amount', line.amount, line.token.decimals),
      usdAtClaim: usdOf(dollarsOf(line)),
      unpricedCount: unpricedOf(line),
      usdNow: usdOf(line.usdNow),
      claimCount: line.events,
    })),
  }
}

function claimsOf(data: unknown): readonly object[] {
  return (data as { readonly claims: readonly object[] }).claims
}

interface ClaimedToken extends Sums {
  readonly token: string
}

/** Unix seconds; null if never claimed. */
interface ClaimSummary {
  readonly claims: number
  readonly usd: bigint
  readonly priced: number
  readonly firstUnix: number | null
  readonly lastUnix: number | null
  readonly tokens: readonly ClaimedToken[]
}

/** Zeros if the wallet never claimed. */
async function readClaimSummary(
  connection: Connection,
  address: Address,
  symbols: readonly string[],
): Promise<ClaimSummary> {
  const found = await connection.run(sql`
    select token, amount, usd, events, priced, first_unix, last_unix from event_account_sums
    where dataset = ${DIVIDENDS} and token in (${join(symbols)}) and account = ${address}
    order by token`)
  const tokens = found.map((row) => ({ token: column.text(row, 'token'), ...readSums(row) }))
  const { events, usd, priced } = tokens.reduce<Sums>(addSums, NOTHING)
  const times = (name: string) => found.map((row) => column.integer(row, name))
  return {
    claims: events,
    usd,
    priced,
    firstUnix: found.length === 0 ? null : Math.min(...times('first_unix')),
    lastUnix: found.length === 0 ? null : Math.max(...times('last_unix')),
    tokens,
  }
}
