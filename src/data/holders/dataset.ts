import { type Address, showAddress, ZERO_ADDRESS } from '#base/address.ts'
import { allEnded } from '#base/async.ts'
import type { Log } from '#base/chain.ts'
import { startOfDay } from '#base/time.ts'
import { isTracked, TRANSFER_TOPIC } from '#base/token.ts'
import { HOLDERS } from '#data/holders/tables.ts'
import { column, sql } from '#db/sql.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { DecodeError } from '#ecosystem/event-arguments.ts'
import { type Deployment, listDeployments } from '#ecosystem/priced-token.ts'
import type { Change, Dataset, Position } from '#index/dataset.ts'
import { noteOverdrawn } from '#index/status.ts'
import {
  balanceAfter,
  collectMovements,
  dayEnds,
  foldHolders,
  foldSupply,
  foldTotals,
  forgetDeltas,
  forgetHours,
  type HolderChange,
  type Movement,
  moveBalances,
  openHours,
  readBalances,
  revertHours,
  storeDeltas,
  type TransferFact,
  takeDeltas,
} from './fold-holders.ts'

export function holdersDataset(ecosystem: Ecosystem): Dataset<TransferFact> {
  const deployments = listDeployments(ecosystem.tokens.filter(isTracked), ecosystem.chains)
  const byPlace = new Map(deployments.map((each) => [`${each.chainId}|${each.address}`, each]))
  const bySymbol = Map.groupBy(deployments, ({ symbol }) => symbol)
  const several = [...bySymbol].flatMap(([symbol, { length }]) => (length > 1 ? [symbol] : []))
  const locked = new Set([...ecosystem.burnAddresses, ...ecosystem.nonCirculating])
  const movesOn = ({ chainId }: Change) => ({
    locked,
    several: new Set(several),
    tokens: deployments.filter((each) => each.chainId === chainId),
  })
  return {
    name: HOLDERS,
    selectors: deployments.map(({ symbol: _, ...place }) => ({ ...place, topic0: TRANSFER_TOPIC })),
    decode: (log) => readTransfer(log, byPlace),
    apply: (change, transfers) => applyTransfers(change, transfers, movesOn(change)),
    revert: (change, ancestor) => revertTransfers(change, ancestor, movesOn(change)),
    async finalize(change) {
      await forgetDeltas(change)
      await forgetHours(change)
    },
  }
}

interface Moves {
  readonly locked: ReadonlySet<Address>
  readonly tokens: readonly Deployment[]
  /** Symbols of tokens on several chains. */
  readonly several: ReadonlySet<string>
}

function readTransfer(
  log: Log,
  deployments: ReadonlyMap<string, Deployment>,
): readonly TransferFact[] {
  const [, from, to, ...more] = log.topics
  if (from === undefined || to === undefined || more.length > 0 || log.data.length !== 66)
    throw new DecodeError('a transfer has three topics and 32 bytes of data')
  const deployment = deployments.get(`${log.chainId}|${log.address}`)
  if (deployment === undefined) return []
  const { blockNumber, timestamp } = log
  return [
    {
      token: deployment.symbol,
      from: `0x${from.slice(26)}`,
      to: `0x${to.slice(26)}`,
      value: BigInt(log.data),
      blockNumber,
      timestamp,
    },
  ]
}

async function applyTransfers(
  change: Change,
  transfers: readonly TransferFact[],
  moves: Moves,
): Promise<void> {
  const movements = collectMovements(transfers)
  await readBalances(change, movements)
  await fold(change, movements, { ...moves, ends: holdersAfter(movements, moves.locked) })
  await openHours(change, movements)
  await storeDeltas(change, movements)
}

/** Folds the inverse of what is above the ancestor. */
async function revertTransfers(change: Change, ancestor: Position, moves: Moves): Promise<void> {
  const undone = await takeDeltas(change, ancestor)
  await readBalances(change, undone)
  const dayUnix = startOfDay(ancestor.timestamp)
  const ends = undone.filter(isHolder(moves.locked)).map((movement) => {
    const { token, address } = movement
    const holds = balanceAfter(movement) > 0n
    return { token, address, fromDay: dayUnix, ends: [{ dayUnix, holds }] }
  })
  await fold(change, undone, { ...moves, ends })
  await revertHours(change, ancestor)
}

interface Fold extends Moves {
  readonly ends: readonly HolderChange[]
}

async function fold(change: Change, movements: readonly Movement[], how: Fold): Promise<void> {
  await allEnded([
    foldHolders(change, how.ends),
    moveBalances(change, movements),
    foldTotals(change, movements, how.several),
    foldSupply(change, movements, how.locked),
  ])
  await noteOverdrawnTokens(change, how.tokens)
}

/** Leaves out who held before, and at the end of each day. */
function holdersAfter(
  movements: readonly Movement[],
  locked: ReadonlySet<Address>,
): readonly HolderChange[] {
  return movements.filter(isHolder(locked)).flatMap((movement) => {
    const { token, address, before } = movement
    const ends = dayEnds(movement)
    if (before.balance > 0n && ends.every(({ holds }) => holds)) return []
    return [{ token, address, fromDay: ends[0]?.dayUnix ?? 0, ends }]
  })
}

/** Zero and non-circulating addresses are not holders. */
function isHolder(locked: ReadonlySet<Address>): (movement: Movement) => boolean {
  return ({ address }) => address !== ZERO_ADDRESS && !locked.has(address)
}

/**
 * Supply and holders of a token are unknown while somebody's stored balance is below zero, however
 * the blocks before were read.
 */
async function noteOverdrawnTokens(
  { connection, chainId }: Pick<Change, 'connection' | 'chainId'>,
  tokens: readonly Deployment[],
): Promise<void> {
  const found = await connection.run(sql`
    select token, min(address) as address from balances
    where chain_id = ${chainId} and balance < '1' group by token`)
  const figures = tokens.flatMap(({ symbol, address: contract }) => {
    const row = found.find(({ token }) => token === symbol)
    if (row === undefined) return []
    const detail = `${showAddress(column.hex(row, 'address'))} sent more ${symbol} than it ever received: the chain's startBlock is later than the token's first transfer, the token moves balances without Transfer events, or an endpoint dropped old logs`
    return [{ contract, detail }]
  })
  await noteOverdrawn(connection, { chainId, dataset: HOLDERS }, figures)
}
