import { Type } from 'typebox'
import { type Address, parseAddress, showAddress } from '#base/address.ts'
import { percentage } from '#base/money.ts'
import { isRefusal, type Refusal, refuse } from '#base/refusal.ts'
import { named } from '#base/schema.ts'
import { DAY_SECONDS, HOUR_SECONDS, startOfHour, unixNow } from '#base/time.ts'
import { isTracked } from '#base/token.ts'
import type { Context } from '#context.ts'
import { dataRoute } from '#data/data-route.ts'
import { HOLDERS } from '#data/dataset-names.ts'
import { hashOf, OTHER_FILTERS } from '#data/event-lists.ts'
import { addressText, amounts, amountText, areHoldersKnown, rawText, unixTime } from '#data/meta.ts'
import {
  addressParameter,
  chainParameter,
  INVALID_CURSOR,
  limitParameter,
  tokenParameter,
} from '#data/parameters.ts'
import type { Connection } from '#db/engine.ts'
import type { Chain, Ecosystem, PricedToken } from '#ecosystem/ecosystem.ts'
import { type ChainStatus, conditionOf, type IndexStatus } from '#index/status.ts'
import { type Parameter, parsed, type Route } from '#route.ts'
import { openingSince } from './fold-balances.ts'
import {
  RANKED_MAX,
  type RankedHolding,
  rankOf,
  readBalancesOf,
  readLargest,
  readSeen,
  readTotalSupply,
  type Scope,
  type Seen,
  totalSupplyOf,
} from './queries.ts'

const holderProperties = {
  address: addressText,
  token: Type.String(),
  balance: amountText,
  balanceRaw: rawText,
  sharePct: Type.Number({ description: 'Of the total supply on the chains asked for' }),
  excluded: Type.Boolean({
    description:
      'A burn address or one that does not circulate: it has no rank and is not counted as a holder',
  }),
  firstSeenUnix: Type.Union([unixTime, Type.Null()], {
    description: 'Start of the first UTC day at whose end it held any; null if none yet',
  }),
  lastSeenUnix: Type.Union([unixTime, Type.Null()], {
    description:
      'Start of the UTC day of its last transfer of more than 0, on chains where it holds any',
  }),
}

const holderRow = named('Holder', {
  rank: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
    description: 'Null if excluded',
  }),
  ...holderProperties,
})

/** The last row of a page, how many it and those before ranked, and the filters. */
interface HolderCursor {
  readonly filters: string
  readonly ranked: number
  readonly after: RankedHolding
}

const holderCursorParameter: Parameter<HolderCursor | undefined> = {
  in: 'query',
  description: 'Continues after a page: its `meta.page.nextCursor`, with the same filters.',
  schema: Type.String({ pattern: '^[A-Za-z0-9_-]{1,1500}$' }),
  parse(raw) {
    if (raw === undefined) return parsed(undefined, null)
    const cursor = decodeCursor(raw)
    return cursor === undefined ? INVALID_CURSOR : parsed(cursor, raw)
  },
}

function encodeCursor({ filters, ranked, after }: HolderCursor): string {
  const text = [filters, ranked, after.balance, after.address].join('.')
  return Buffer.from(text).toString('base64url')
}

/** Sums of balances may be longer than 78 digits. */
const CURSOR = /^([0-9a-f]{16})\.([0-9]{1,15})\.([1-9][0-9]{0,998})\.(0x[0-9a-f]{40})$/

function decodeCursor(raw: string): HolderCursor | undefined {
  const text = Buffer.from(raw, 'base64url').toString('latin1')
  const [, filters = '', ranked, balance = '', own = ''] = CURSOR.exec(text) ?? []
  const address = parseAddress(own)
  if (address === undefined || Buffer.from(text).toString('base64url') !== raw) return undefined
  return { filters, ranked: Number(ranked), after: { address, balance: BigInt(balance) } }
}

export function holdersRoute(ctx: Context): Route {
  const leftOut = leftOutOf(ctx.ecosystem)
  return dataRoute(ctx, {
    path: '/api/holders',
    operationId: 'listHolders',
    tag: 'Holders',
    summary: 'Holders by balance',
    description:
      'Who holds a token, largest balance first, equal ones by address in descending order, over all chains or on one. Burn addresses and those that do not circulate are marked and have no rank.',
    parameters: {
      limit: limitParameter(20),
      ...scopeParameters(ctx.ecosystem),
      cursor: holderCursorParameter,
    },
    data: Type.Array(holderRow),
    paged: true,
    csv: { row: holderRow, rows: (data) => data as readonly object[] },
    refusals: ['invalid_cursor'],
    check({ cursor, ...asked }) {
      const refused = refuseElsewhere(asked)
      if (refused !== undefined || cursor === undefined) return refused
      return cursor.filters === filtersOf(asked) ? undefined : OTHER_FILTERS
    },
    async read({ connection, status, parameters: { limit, cursor, ...asked } }) {
      const opened = await openRanking(connection, status, asked)
      if (isRefusal(opened)) return opened
      const { scope, supply } = opened
      const found = await readLargest(connection, scope, {
        limit: limit + 1,
        after: cursor?.after,
      })
      const rows = found.slice(0, limit)
      const addresses = rows.map(({ address }) => address)
      const seen = await readSeen(connection, scope, addresses)
      let ranked = cursor?.ranked ?? 0
      const data = rows.map((each) => {
        const { token } = asked
        const shown = showHolder(each, { token, supply, seen: seen.get(each.address), leftOut })
        if (!shown.excluded) ranked += 1
        return { rank: shown.excluded ? null : ranked, ...shown }
      })
      const last = rows.at(-1)
      const isMore = found.length > limit && last !== undefined
      const nextCursor = isMore
        ? encodeCursor({ filters: filtersOf(asked), ranked, after: last })
        : null
      return { data, page: { limit, count: data.length, nextCursor } }
    },
  })
}

function filtersOf({ token, chain }: ScopeQuery): string {
  return hashOf([HOLDERS, token.symbol, chain?.name])
}

const holderShape = named('WalletHolding', {
  rank: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
    description: `Null if it holds none, is excluded, or is not among the first ${RANKED_MAX}`,
  }),
  ...holderProperties,
  change24h: amountText,
  change24hRaw: rawText,
  change7d: amountText,
  change7dRaw: rawText,
  change30d: amountText,
  change30dRaw: rawText,
  chains: Type.Array(
    named('ChainBalance', {
      chain: Type.String(),
      chainId: Type.Integer(),
      balance: amountText,
      balanceRaw: rawText,
    }),
  ),
})

/** Windows begin at a full hour, so they are up to an hour shorter. */
const WINDOWS = [
  { name: 'change24h', days: 1 },
  { name: 'change7d', days: 7 },
  { name: 'change30d', days: 30 },
] as const

/** History has no hours but those of the last 36 days, which windows reach from then on only. */
const BEHIND_MAX_SECONDS = 5 * DAY_SECONDS

function isFarBehind(status: ChainStatus, nowUnix: number): boolean {
  const isSyncing = conditionOf(status, nowUnix) === 'syncing'
  return isSyncing && nowUnix - status.blockTimeUnix > BEHIND_MAX_SECONDS
}

export function holderRoute(ctx: Context): Route {
  const leftOut = leftOutOf(ctx.ecosystem)
  return dataRoute(ctx, {
    path: '/api/holders/{address}',
    operationId: 'getHolder',
    tag: 'Holders',
    summary: 'Balance, rank and change of a wallet',
    description:
      'What one wallet holds of a token, on each chain, its rank, and the change over 24 hours, 7 and 30 days, which begin at a full hour. A wallet that never held any has zeros.',
    parameters: { address: addressParameter, ...scopeParameters(ctx.ecosystem) },
    data: holderShape,
    refusals: ['invalid_address'],
    check: refuseElsewhere,
    async read({ connection, status, parameters: { address, ...asked } }) {
      const opened = await openRanking(connection, status, asked)
      if (isRefusal(opened)) return opened
      const { scope, supply } = opened
      const { token } = asked
      const nowUnix = unixNow(ctx.clock)
      const far = chainsOf(status, asked).find((each) => isFarBehind(each, nowUnix))
      if (far !== undefined)
        return refuse('data_not_ready', `${far.chain.name} is read up to ${far.blockNumber} only.`)
      const windows = WINDOWS.map(({ name, days }) => {
        const fromUnix = status.asOfUnix - days * DAY_SECONDS + 1
        return { name, hourUnix: startOfHour(fromUnix + HOUR_SECONDS - 1), change: 0n }
      })
      const chains = []
      let balance = 0n
      for (const { chain } of chainsOf(status, asked)) {
        const onChain = { token: token.symbol, chainIds: [chain.id] }
        const held = (await readBalancesOf(connection, onChain, [address])).get(address) ?? 0n
        balance += held
        for (const window of windows) {
          const { hourUnix } = window
          const since = { token: token.symbol, address, hourUnix }
          const opening = await openingSince({ connection, chainId: chain.id }, since)
          window.change += held - (opening ?? held)
        }
        chains.push({
          chain: chain.name,
          chainId: chain.id,
          ...amounts('balance', held, token.decimals),
        })
      }
      const own = { address, balance }
      const seen = await readSeen(connection, scope, [address])
      const shown = showHolder(own, { token, supply, seen: seen.get(address), leftOut })
      const isRanked = balance > 0n && !shown.excluded
      const rank = isRanked ? await rankOf(connection, scope, { own, leftOut }) : null
      const changes = windows.map(({ name, change }) => amounts(name, change, token.decimals))
      return { data: { rank, ...shown, ...Object.assign({}, ...changes), chains } }
    },
  })
}

/** Opens the ranking of a token with its total supply on the chains asked for, or refuses what is not known. */
async function openRanking(
  connection: Connection,
  status: IndexStatus,
  asked: ScopeQuery,
): Promise<{ readonly scope: Scope; readonly supply: bigint } | Refusal> {
  const unknown = whyUnknown(status, asked)
  if (unknown !== undefined) return refuse('data_not_ready', unknown)
  const { symbol: token } = asked.token
  const chains = chainsOf(status, asked)
  const missing = placesOf(asked).find((name) => chains.every(({ chain }) => chain.name !== name))
  if (missing !== undefined) return refuse('data_not_ready', `${missing} had no block yet.`)
  let supply = 0n
  for (const each of chains)
    supply += totalSupplyOf(await readTotalSupply(connection, token, each.chain.id))
  return { scope: { token, chainIds: chains.map(({ chain }) => chain.id) }, supply }
}

function leftOutOf({ burnAddresses, nonCirculating }: Ecosystem): readonly Address[] {
  return [...burnAddresses, ...nonCirculating]
}

function showHolder(
  { address, balance }: RankedHolding,
  {
    token,
    supply,
    seen,
    leftOut,
  }: {
    readonly token: PricedToken
    readonly supply: bigint
    readonly seen: Seen | undefined
    readonly leftOut: readonly Address[]
  },
) {
  const excluded = leftOut.includes(address)
  return {
    address: showAddress(address),
    token: token.symbol,
    ...amounts('balance', balance, token.decimals),
    sharePct: percentage(balance, supply),
    excluded,
    firstSeenUnix: excluded ? null : (seen?.firstUnix ?? null),
    lastSeenUnix: seen?.lastUnix ?? null,
  }
}

/** A token on all of its chains, or on one of them. */
export interface ScopeQuery {
  readonly token: PricedToken
  readonly chain: Chain | undefined
}

/** Offers tracked tokens only: of others not every transfer is read. */
export function scopeParameters(ecosystem: Ecosystem) {
  return {
    token: tokenParameter(ecosystem.tokens.filter(isTracked), ecosystem.primary),
    chain: chainParameter(ecosystem),
  }
}

export function refuseElsewhere({ token, chain }: ScopeQuery): Refusal | undefined {
  const allowed = [...token.addresses.keys(), 'all']
  if (chain === undefined || allowed.includes(chain.name)) return undefined
  const reason = `is not a chain of ${token.symbol}`
  const errors = [{ in: 'query', name: 'chain', reason, allowed } as const]
  return refuse('invalid_parameter', `chain ${reason}`, { errors })
}

/** Names of the chains asked for. */
function placesOf({ token, chain }: ScopeQuery): readonly string[] {
  return [...token.addresses.keys()].filter((name) => (chain?.name ?? name) === name)
}

/** Returns those of the chains asked for that have been read. */
export function chainsOf(
  { chains }: IndexStatus,
  { token, chain }: ScopeQuery,
): readonly ChainStatus[] {
  return chains.filter(
    ({ chain: own }) => token.addresses.has(own.name) && (chain ?? own).id === own.id,
  )
}

/** Says why balances are not known. */
export function whyUnknown(status: IndexStatus, { token, chain }: ScopeQuery): string | undefined {
  if (areHoldersKnown(status, token, chain?.id)) return undefined
  return `The balances of ${token.symbol} are unknown: its transfers add up to a balance below zero.`
}
