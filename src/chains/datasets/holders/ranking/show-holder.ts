import type { Ecosystem, PricedToken } from '#chains/ecosystem/ecosystem.ts'
import { type AsOfSnapshot, finalBlock } from '#chains/indexer/as-of-snapshot.ts'
import type { IndexStatus } from '#chains/indexer/status.ts'
import { type Address, showAddress } from '#domain/address.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { percentage } from '#lib/decimal.ts'
import { Type } from '#lib/type.ts'
import type { Connection } from '#store/engine.ts'
import type { DataDeps } from '../../data-route.ts'
import { addressText, amounts, amountText, rawText, unixTime } from '../../wire.ts'
import { readSupplyAt } from '../queries.ts'
import { type Asked, chainsOf, placesOf, whyUnknown } from '../scope.ts'
import {
  type Holding,
  MOVED_MAX,
  type MovedSince,
  readMovedSince,
  type Scope,
  type Seen,
} from './queries.ts'

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

export interface Ranking {
  readonly scope: Scope
  /** The total supply on the chains asked for. */
  readonly supply: bigint
  readonly moved: MovedSince
}

/** Opens the ranking of a token, or refuses what is not known now or at the snapshot. */
export async function openRanking(
  connection: Connection,
  deps: Pick<DataDeps, 'file'>,
  {
    status,
    snapshot,
    asked,
  }: {
    readonly status: IndexStatus
    readonly snapshot: AsOfSnapshot | undefined
    readonly asked: Asked
  },
): Promise<Ranking | Refusal> {
  const unknown = whyUnknown(deps.file, status, asked)
  if (unknown !== undefined) return refuse('data_not_ready', unknown)
  const { symbol: token } = asked.token
  const chains = chainsOf(status, asked)
  const missing = placesOf(asked).find((name) => chains.every(({ chain }) => chain.name !== name))
  if (missing !== undefined) return refuse('data_not_ready', `${missing} had no block yet.`)
  let supply = 0n
  for (const each of chains) {
    const block = snapshot?.get(each.chain.id)
    const final = block && (await finalBlock(connection, each))
    if (block && block.number < (final?.number ?? 0)) return tooOld(each.chain.name, final?.number)
    const blockNumber = block?.number ?? Number.MAX_SAFE_INTEGER
    supply += await readSupplyAt(connection, { token, chainId: each.chain.id, blockNumber })
  }
  const scope = { token, chainIds: chains.map(({ chain }) => chain.id) }
  const moved = await readMovedSince(connection, scope, snapshot)
  if (typeof moved !== 'number') return { scope, supply, moved }
  return movedTooMuch(token, chains.find(({ chain }) => chain.id === moved)?.chain.name)
}

function movedTooMuch(token: string, chain = ''): Refusal {
  const message = `balances of ${token} changed more than ${MOVED_MAX} times on ${chain} since that block: name a later one, or none`
  return refuse('invalid_parameter', message)
}

function tooOld(chain: string, final = 0): Refusal {
  const message = `balances are kept from the final block of a chain on: of ${chain} name ${chain}:${final} or a later one`
  return refuse('invalid_parameter', message)
}

export function leftOutOf({ burnAddresses, nonCirculating }: Ecosystem): readonly Address[] {
  return [...burnAddresses, ...nonCirculating]
}

export function showHolder(
  { address, balance }: Holding,
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
