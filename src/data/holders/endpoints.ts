import { Type } from 'typebox'
import { type Address, parseAddress, showAddress } from '#base/address.ts'
import { percentage } from '#base/money.ts'
import { isRefusal, type Refusal, refuse } from '#base/refusal.ts'
import { named } from '#base/schema.ts'
import { DAY_SECONDS, HOUR_SECONDS, startOfHour, unixNow } from '#base/time.ts'
import { isTracked } from '#base/token.ts'
import type { Context } from '#context.ts'
import { dataRoute } from '#data/data-route.ts'
import { HOLDERS } from '#data/holders/tables.ts'
import {
  addressText,
  amountShape,
  amounts,
  areHoldersKnown,
  nullable,
  unixTime,
} from '#data/meta.ts'
import {
  addressParameter,
  chainParameter,
  checkCursor,
  cursorParameter,
  encodeCursor,
  hashFilters,
  limitParameter,
  tokenParameter,
} from '#data/parameters.ts'
import type { Connection } from '#db/engine.ts'
import type { Chain, Ecosystem, PricedToken } from '#ecosystem/ecosystem.ts'
import { type ChainStatus, type IndexStatus, judgeCondition } from '#index/status.ts'
import type { Route } from '#route.ts'
import { openingSince } from './fold-holders.ts'
import {
  RANKED_MAX,
  type RankedHolding,
  readLargest,
  readRank,
  readSeen,
  readTotalSupply,
  readWalletBalances,
  type Scope,
  sumTotalSupply,
} from './queries.ts'

const holderProperties = {
  address: addressText,
  token: Type.String(),
  ...amountShape('balance'),
  sharePct: Type.Number({ description: 'Of the total supply on the chains asked for' }),
  excluded: Type.Boolean({
    description:
      'A burn address or one that does not circulate: it has no rank and is not counted as a holder',
  }),
  firstSeenUnix: nullable(unixTime, {
    description: 'Start of the first UTC day at whose end it held any; null if none yet',
  }),
  lastSeenUnix: nullable(unixTime, {
    description:
      'Start of the UTC day of its last transfer of more than 0, on chains where it holds any',
  }),
}

const holderRow = named('Holder', {
  rank: nullable(Type.Integer({ minimum: 1 }), {
    description: 'Null if excluded',
  }),
  ...holderProperties,
})

/** How many rows up to the last one are ranked, and that row. Sums of balances may be longer than 78 digits. */
const holderCursor = cursorParameter<RankedHolding & { readonly ranked: number }>(
  { pattern: '([0-9]{1,15})\\.([1-9][0-9]{0,998})\\.(0x[0-9a-f]{40})', lengthMax: 1_500 },
  ([ranked, balance = '', own = '']) => {
    const address = parseAddress(own)
    return address && { ranked: Number(ranked), balance: BigInt(balance), address }
  },
)

export function holdersRoute(ctx: Context): Route {
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
      cursor: holderCursor,
    },
    data: Type.Array(holderRow),
    paged: true,
    csv: { row: holderRow, rows: (data) => data as readonly object[] },
    refusals: ['invalid_cursor'],
    check: ({ cursor, ...asked }) =>
      refuseElsewhere(asked) ?? checkCursor(cursor, nameFilters(asked)),
    async read({ connection, status, parameters: { limit, cursor, ...asked } }) {
      const opened = await openRanking(ctx, connection, { status, ...asked })
      if (isRefusal(opened)) return opened
      const found = await readLargest(connection, opened.scope, {
        limit: limit + 1,
        after: cursor?.after,
      })
      const rows = found.slice(0, limit)
      const show = await holderReader(connection, opened, rows)
      let ranked = cursor?.after.ranked ?? 0
      const data = rows.map((each) => {
        const shown = show(each)
        if (!shown.excluded) ranked += 1
        return { rank: shown.excluded ? null : ranked, ...shown }
      })
      const last = rows.at(-1)
      const nextCursor =
        found.length > limit && last !== undefined
          ? encodeCursor(nameFilters(asked), [ranked, last.balance, last.address])
          : null
      return { data, page: { limit, count: data.length, nextCursor } }
    },
  })
}

function nameFilters({ token, chain }: ScopeQuery): string {
  return hashFilters([HOLDERS, token.symbol, chain?.name])
}

export const holderShape = named('WalletHolding', {
  rank: nullable(Type.Integer({ minimum: 1 }), {
    description: `Null if it holds none, is excluded, or is not among the first ${RANKED_MAX}`,
  }),
  ...holderProperties,
  ...amountShape('change24h'),
  ...amountShape('change7d'),
  ...amountShape('change30d'),
  chains: Type.Array(
    named('ChainBalance', {
      chain: Type.String(),
      chainId: Type.Integer(),
      ...amountShape('balance'),
    }),
  ),
})

/** Windows begin at a full hour, so they are up to an hour shorter. */
const WINDOWS = { change24h: 1, change7d: 7, change30d: 30 }

/** History has no hours but those of the last 36 days, which windows reach from then on only. */
const BEHIND_MAX_SECONDS = 5 * DAY_SECONDS

export function holderRoute(ctx: Context): Route {
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
      const opened = await openRanking(ctx, connection, { status, ...asked })
      if (isRefusal(opened)) return opened
      const { decimals, symbol } = asked.token
      const nowUnix = unixNow(ctx.clock)
      const read = listChains(status, asked)
      const far = read.find(
        (each) =>
          judgeCondition(each, nowUnix) === 'syncing' &&
          nowUnix - each.blockTimeUnix > BEHIND_MAX_SECONDS,
      )
      if (far !== undefined)
        return refuse('data_not_ready', `${far.chain.name} is read up to ${far.blockNumber} only.`)
      const windows = Object.entries(WINDOWS).map(([name, days]) => {
        const fromUnix = status.asOfUnix - days * DAY_SECONDS + 1
        return { name, hourUnix: startOfHour(fromUnix + HOUR_SECONDS - 1), change: 0n }
      })
      const chains = []
      let balance = 0n
      for (const { chain } of read) {
        const onChain = { token: symbol, chainIds: [chain.id] }
        const held = (await readWalletBalances(connection, onChain, [address])).get(address) ?? 0n
        balance += held
        for (const window of windows) {
          const since = { token: symbol, address, hourUnix: window.hourUnix }
          const opening = await openingSince({ connection, chainId: chain.id }, since)
          window.change += held - (opening ?? held)
        }
        chains.push({ chain: chain.name, chainId: chain.id, ...amounts('balance', held, decimals) })
      }
      const own = { address, balance }
      const shown = (await holderReader(connection, opened, [own]))(own)
      const { scope, leftOut } = opened
      const isRanked = balance > 0n && !shown.excluded
      const rank = isRanked ? await readRank(connection, scope, { own, leftOut }) : null
      const changes = windows.map(({ name, change }) => amounts(name, change, decimals))
      return { data: { rank, ...shown, ...Object.assign({}, ...changes), chains } }
    },
  })
}

interface Ranking {
  readonly token: PricedToken
  readonly scope: Scope
  /** The total on the chains asked for. */
  readonly supply: bigint
  readonly leftOut: readonly Address[]
}

async function openRanking(
  { ecosystem }: Context,
  connection: Connection,
  { status, token, chain }: ScopeQuery & { readonly status: IndexStatus },
): Promise<Ranking | Refusal> {
  const asked = { token, chain }
  const unknown = whyUnknown(status, asked)
  if (unknown !== undefined) return refuse('data_not_ready', unknown)
  const chains = listChains(status, asked)
  const missing = [...token.addresses.keys()].find(
    (name) => (chain?.name ?? name) === name && chains.every((each) => each.chain.name !== name),
  )
  if (missing !== undefined) return refuse('data_not_ready', `${missing} had no block yet.`)
  let supply = 0n
  for (const each of chains)
    supply += sumTotalSupply(await readTotalSupply(connection, token.symbol, each.chain.id))
  const scope = { token: token.symbol, chainIds: chains.map((each) => each.chain.id) }
  const leftOut = [...ecosystem.burnAddresses, ...ecosystem.nonCirculating]
  return { token, scope, supply, leftOut }
}

async function holderReader(
  connection: Connection,
  { token, scope, supply, leftOut }: Ranking,
  holdings: readonly RankedHolding[],
) {
  const addresses = holdings.map(({ address }) => address)
  const seen = await readSeen(connection, scope, addresses)
  return ({ address, balance }: RankedHolding) => {
    const excluded = leftOut.includes(address)
    const { firstUnix = null, lastUnix = null } = seen.get(address) ?? {}
    return {
      address: showAddress(address),
      token: token.symbol,
      ...amounts('balance', balance, token.decimals),
      sharePct: percentage(balance, supply),
      excluded,
      firstSeenUnix: excluded ? null : firstUnix,
      lastSeenUnix: lastUnix,
    }
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

/** Returns those of the chains asked for that have been read. */
export function listChains(
  { chains }: IndexStatus,
  { token, chain }: ScopeQuery,
): readonly ChainStatus[] {
  return chains.filter(
    ({ chain: own }) => token.addresses.has(own.name) && (chain ?? own).id === own.id,
  )
}

export function whyUnknown(status: IndexStatus, { token, chain }: ScopeQuery): string | undefined {
  if (areHoldersKnown(status, token, chain?.id)) return undefined
  return `The balances of ${token.symbol} are unknown: its transfers add up to a balance below zero.`
}
