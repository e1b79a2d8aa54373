import { Type } from 'typebox'
import { isRefusal, refuse } from '#base/refusal.ts'
import { named } from '#base/schema.ts'
import { DAY_SECONDS, HOUR_SECONDS, startOfHour, unixNow } from '#base/time.ts'
import type { Context } from '#context.ts'
import { amounts, amountText, rawText } from '#data/meta.ts'
import { type ChainStatus, conditionOf } from '#index/status.ts'
import type { Route } from '#route.ts'
import { dataRoute } from '../../data-route.ts'
import { addressParameter } from '../../parameters.ts'
import { openingSince } from '../fold-balances.ts'
import { chainsOf, refuseElsewhere, scopeParameters } from '../scope.ts'
import { RANKED_MAX, rankOf, readBalancesOf, readSeen } from './queries.ts'
import { holderProperties, leftOutOf, openRanking, showHolder } from './show-holder.ts'

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
