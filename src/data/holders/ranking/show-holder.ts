import { Type } from 'typebox'
import { type Address, showAddress } from '#base/address.ts'
import { percentage } from '#base/money.ts'
import { type Refusal, refuse } from '#base/refusal.ts'
import { addressText, amounts, amountText, rawText, unixTime } from '#data/meta.ts'
import type { Connection } from '#db/engine.ts'
import type { Ecosystem, PricedToken } from '#ecosystem/ecosystem.ts'
import type { IndexStatus } from '#index/status.ts'
import { readTotalSupply, totalSupplyOf } from '../queries.ts'
import { chainsOf, placesOf, type ScopeQuery, whyUnknown } from '../scope.ts'
import type { RankedHolding, Scope, Seen } from './queries.ts'

export const holderProperties = {
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

/** Opens the ranking of a token with its total supply on the chains asked for, or refuses what is not known. */
export async function openRanking(
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

export function leftOutOf({ burnAddresses, nonCirculating }: Ecosystem): readonly Address[] {
  return [...burnAddresses, ...nonCirculating]
}

export function showHolder(
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
