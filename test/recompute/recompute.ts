import { getAddress, zeroAddress } from 'viem'
import { accounts } from '#devnet/addresses.ts'
import type { ChainAt } from './chain-at.ts'
import {
  burnRow,
  burnTotals,
  claimsOf,
  dailyBurns,
  digRow,
  dividendTotals,
  leaderboard,
  payoutRow,
  walletClaims,
} from './event-bodies.ts'
import { holder, holders } from './holder-bodies.ts'
import { followed } from './local-tokens.ts'
import { readChain } from './read-chain.ts'
import { askFigures, metricNames, stats, statsHistory } from './stats-bodies.ts'
import { gatherWorld, supplyAt, type WorldAt } from './world-at.ts'

/** What a request must be answered with. */
export interface ExpectedBody {
  readonly data: unknown
  /** `meta.totals`, where the endpoint has it. */
  readonly totals?: unknown
}

/** What the data endpoints must answer, by path and query. */
export type ExpectedBodies = ReadonlyMap<string, ExpectedBody>

/** Longer than the history of the local chains, so that days before the first event are compared. */
const periods = ['1d', '30d', '150d', 'all'] as const

/**
 * Computes every figure of the data endpoints from the chains alone, by plain calls and brute force,
 * without any code of the server. `asOfUnix`: time of the newest block of any chain.
 */
export async function recompute(
  chains: readonly ChainAt[],
  asOfUnix: number,
): Promise<ExpectedBodies> {
  const world = gatherWorld(await Promise.all(chains.map(readChain)), asOfUnix)
  const asked = {
    GRAVE: await askFigures(world, 'GRAVE'),
    CRYPT: await askFigures(world, 'CRYPT'),
  }
  return new Map([
    ['/api/stats', { data: stats(world, asked) }],
    ...histories(world),
    ...ranked(world),
    ...burns(world),
    ...dividends(world),
    ...graveDigs(world),
  ])
}

type Entries = readonly (readonly [path: string, body: ExpectedBody])[]

function histories(world: WorldAt): Entries {
  return metricNames.flatMap((metric) =>
    periods.flatMap((period) =>
      [undefined, ...followed].map((token) => {
        const path = `/api/stats/history?metric=${metric}&period=${period}`
        const data = statsHistory(world, { metric, period, ...(token && { token }) })
        return [token === undefined ? path : `${path}&token=${token}`, { data }] as const
      }),
    ),
  )
}

/** A few wallets of each list, from its top and its end. */
const WALLETS = 4

function ranked(world: WorldAt): Entries {
  const names = world.chains.map(({ chain }) => chain.name)
  return followed.flatMap((token) =>
    [names, ...names.map((name) => [name])].flatMap((chains) => {
      const query = `token=${token}&chain=${chains.length === 1 ? chains[0] : 'all'}`
      const rows = holders(world, { token, chains })
      const some = [...new Set([...rows.slice(0, WALLETS), ...rows.slice(-WALLETS)])]
      return [
        [`/api/holders?limit=100&${query}`, { data: rows }] as const,
        ...some.map((row) => {
          const path = `/api/holders/${row.address}?${query}`
          return [path, { data: holder(world, { token, chains }, row) }] as const
        }),
      ]
    }),
  )
}

function burns(world: WorldAt): Entries {
  const daily = followed.flatMap((token) =>
    periods.flatMap((period) =>
      ['all', ...world.chains.map(({ chain }) => chain.name)].map((chain) => {
        const path = `/api/burns?period=${period}&chain=${chain}&token=${token}`
        return [path, dailyBurns(world, { token, chain, period })] as const
      }),
    ),
  )
  const totals = followed.map((token) => {
    const { minted } = supplyAt(world, token, world.asOfUnix)
    return [`/api/burns/total?token=${token}`, { data: burnTotals(world, token, minted) }] as const
  })
  const rows = world.burns.map((burn) => burnRow(world, burn))
  const onBase = rows.filter((row) => row.chain === 'base' && row.token === 'CRYPT')
  return [
    ...daily,
    ...totals,
    ['/api/burns', dailyBurns(world, { token: 'GRAVE', chain: 'all', period: '30d' })],
    ['/api/burns/recent', { data: rows.slice(0, 20) }],
    ['/api/burns/recent?limit=100', { data: rows.slice(0, 100) }],
    ['/api/burns/recent?limit=50&chain=base&token=CRYPT', { data: onBase.slice(0, 50) }],
  ]
}

function dividends(world: WorldAt): Entries {
  const rows = world.payouts.map((payout) => payoutRow(world, payout))
  const claimers = claimsOf(world).flatMap(({ account }) => (account === null ? [] : [account]))
  const wallets = [...new Set(claimers)].slice(0, 12)
  const ofWallets = [...wallets, accounts.poor, zeroAddress].map((wallet) => {
    const path = `/api/dividends/${getAddress(wallet)}?limit=100`
    return [path, { data: walletClaims(world, wallet, 100) }] as const
  })
  return [
    ['/api/dividends/total', { data: dividendTotals(world) }],
    ['/api/dividends/recent', { data: rows.slice(0, 20) }],
    ['/api/dividends/recent?limit=100', { data: rows.slice(0, 100) }],
    ...ofWallets,
  ]
}

function graveDigs(world: WorldAt): Entries {
  const rows = world.digs.map((dig) => digRow(world, dig))
  const onEthereum = rows.filter((row) => row.chain === 'ethereum')
  return [
    ['/api/grave-digs', { data: rows.slice(0, 20) }],
    ['/api/grave-digs?limit=100', { data: rows.slice(0, 100) }],
    ['/api/grave-digs?limit=30&chain=ethereum', { data: onEthereum.slice(0, 30) }],
    ['/api/grave-digs/leaderboard', { data: leaderboard(world, 'GRAVE', 10) }],
    ['/api/grave-digs/leaderboard?limit=100', { data: leaderboard(world, 'GRAVE', 100) }],
  ]
}
