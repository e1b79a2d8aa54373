import { type Address, getAddress, zeroAddress } from 'viem'
import { type Followed, lockedAddresses } from './local-tokens.ts'
import { DAY, pair, percent, sum } from './show.ts'
import type { WorldAt } from './world-at.ts'

const HOUR = 3_600
/** All rows of a page at most. */
const ROWS = 100

interface Asked {
  readonly token: Followed
  /** Names of the chains that count. */
  readonly chains: readonly string[]
}

/** `data` of GET /api/holders?limit=100. */
export function holders(world: WorldAt, asked: Asked) {
  const ledger = ledgerOf(world, asked)
  const supply = -sum(ledger.map(({ moves }) => balanceOf(moves, zeroAddress)))
  const owners = [...new Set(ledger.flatMap(({ moves }) => moves.map(({ to }) => to)))]
  const held = owners
    .filter((owner) => owner !== zeroAddress)
    .map((owner) => ({ owner, balance: sum(ledger.map((each) => balanceOf(each.moves, owner))) }))
    .filter(({ balance }) => balance > 0n)
    .sort((a, b) =>
      a.balance === b.balance ? (a.owner > b.owner ? -1 : 1) : a.balance > b.balance ? -1 : 1,
    )
  let rank = 0
  return held.slice(0, ROWS).map(({ owner, balance }) => {
    const excluded = lockedAddresses.includes(owner)
    if (!excluded) rank += 1
    return {
      rank: excluded ? null : rank,
      address: getAddress(owner),
      token: asked.token,
      ...pair('balance', balance, asked.token),
      sharePct: percent(balance, supply),
      excluded,
      firstSeenUnix: excluded ? null : firstSeen(ledger, owner),
      lastSeenUnix: lastSeen(ledger, owner),
    }
  })
}

/** `data` of GET /api/holders/{address}, of an address that is in the list. */
export function holder(world: WorldAt, asked: Asked, row: ReturnType<typeof holders>[number]) {
  const owner = row.address.toLowerCase() as Address
  const ledger = ledgerOf(world, asked)
  const since = (days: number) => {
    const fromUnix = Math.ceil((world.asOfUnix - days * DAY + 1) / HOUR) * HOUR
    const moves = ledger.flatMap((each) => each.moves.filter(({ unix }) => unix >= fromUnix))
    return balanceOf(moves, owner)
  }
  return {
    ...row,
    ...pair('change24h', since(1), asked.token),
    ...pair('change7d', since(7), asked.token),
    ...pair('change30d', since(30), asked.token),
    chains: ledger.map(({ chain, chainId, moves }) => ({
      chain,
      chainId,
      ...pair('balance', balanceOf(moves, owner), asked.token),
    })),
  }
}

type Ledger = ReturnType<typeof ledgerOf>

/** Transfers by chain, oldest first. */
function ledgerOf(world: WorldAt, { token, chains }: Asked) {
  const own = world.transfers.filter((each) => each.token === token)
  return world.chains
    .filter(({ chain }) => chains.includes(chain.name))
    .map(({ chain }) => {
      const moves = own.filter((each) => each.chain === chain.name).reverse()
      return { chain: chain.name, chainId: chain.id, moves }
    })
}

type Moves = Ledger[number]['moves']

function balanceOf(moves: Moves, owner: Address): bigint {
  const received = sum(moves.filter(({ to }) => to === owner).map(({ amount }) => amount))
  return received - sum(moves.filter(({ from }) => from === owner).map(({ amount }) => amount))
}

/** The first day at whose end something is held on a chain. */
function firstSeen(ledger: Ledger, owner: Address): number | null {
  const days = ledger.flatMap(({ moves }) => {
    const own = moves.filter(({ from, to }) => from === owner || to === owner)
    const ends = [...new Set(own.map(({ unix }) => Math.floor(unix / DAY) * DAY))]
    const first = ends.find(
      (day) =>
        balanceOf(
          own.filter(({ unix }) => unix < day + DAY),
          owner,
        ) > 0n,
    )
    return first === undefined ? [] : [first]
  })
  return days.length === 0 ? null : Math.min(...days)
}

function lastSeen(ledger: Ledger, owner: Address): number {
  const last = ledger
    .filter(({ moves }) => balanceOf(moves, owner) !== 0n)
    .flatMap(({ moves }) =>
      moves.filter(({ from, to, amount }) => amount > 0n && (from === owner || to === owner)),
    )
  const unix = Math.max(...last.map((move) => move.unix))
  return unix - (unix % DAY)
}
