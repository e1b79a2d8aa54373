import assert from 'node:assert/strict'
import { zeroAddress } from 'viem'
import { type Address, showAddress } from '#base/address.ts'
import { percentage } from '#base/money.ts'
import { DAY_SECONDS, HOUR_SECONDS, startOfDay } from '#base/time.ts'
import type { Engine } from '#db/engine.ts'
import { accounts, addresses, burnAddress } from '#devnet/addresses.ts'
import type { Route } from '#route.ts'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { startPostgres } from '#test/postgres.ts'
import { callRoute, dataRoutesOf, readRoute, refusalOf } from '#test/route-reader.ts'
import { advanceAll, commitDepsOf, stepIndex } from '#test/stepped-index.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { registerMigrations } from '../datasets.ts'

const onEach = eachEngine(startPostgres, registerMigrations)

const GENESIS_UNIX = 1_700_000_000
const FINAL_DEPTH = 4
const BLOCKS = 30
const SECONDS_APART = 7_200
/** The first block lies before the longest window, so that history is read too. */
const SILENCE = 40 * DAY_SECONDS
const { grave } = addresses.base
const leftOut = [burnAddress, accounts.treasury].map((each) => each.toLowerCase() as Address)
const wallets = Array.from(
  { length: 12 },
  (_, index): Address => `0x${(index + 1).toString(16).padStart(40, '0')}`,
)

const timeOf = (block: number) => GENESIS_UNIX + SILENCE + (block - 1) * SECONDS_APART

interface Move {
  readonly chain: 'base' | 'ethereum'
  readonly block: number
  readonly unix: number
  readonly from: Address
  readonly to: Address
  readonly value: bigint
}

/** Wallets of both chains: equal balances, emptied ones, transfers of nothing and to oneself. */
const moves = [...movesOn('base', 0), ...movesOn('ethereum', 1)]

function movesOn(chain: Move['chain'], offset: number): readonly Move[] {
  const made: Move[] = []
  const balances = new Map<Address, bigint>()
  const balanceOf = (address: Address) => balances.get(address) ?? 0n
  const who = (place: number) => wallets[(place + offset) % wallets.length] ?? zeroAddress
  for (let block = 1; block <= BLOCKS; block += 1) {
    const move = (from: Address, to: Address, value: bigint) => {
      made.push({ chain, block, unix: timeOf(block), from, to, value })
      balances.set(from, balanceOf(from) - value)
      balances.set(to, balanceOf(to) + value)
    }
    move(zeroAddress, who(block), 1_000n)
    move(who(block), who(block * 5), BigInt(block % 7) * 100n)
    move(who(block), leftOut[block % 2] ?? zeroAddress, BigInt(block % 3) * 50n)
    move(who(block * 3), who(block * 3), BigInt(block % 2))
    if (block % 6 === 0) move(who(block), who(block + 1), balanceOf(who(block)))
  }
  return made
}

interface Expected {
  readonly rank: number | null
  readonly address: string
  readonly balanceRaw: string
  readonly sharePct: number
  readonly excluded: boolean
  readonly firstSeenUnix: number | null
  readonly lastSeenUnix: number
}

/** The list by adding every transfer up. */
function recount(chains: readonly string[]): readonly Expected[] {
  const known = moves.filter(({ chain }) => chains.includes(chain))
  const balances = new Map<string, bigint>()
  const add = (chain: string, address: Address, value: bigint) =>
    balances.set(`${chain} ${address}`, (balances.get(`${chain} ${address}`) ?? 0n) + value)
  const first = new Map<Address, number>()
  const days = [...new Set(known.map(({ unix }) => startOfDay(unix)))]
  for (const day of days) {
    for (const move of known.filter(({ unix }) => startOfDay(unix) === day)) {
      add(move.chain, move.from, -move.value)
      add(move.chain, move.to, move.value)
    }
    for (const [key, balance] of balances) {
      const address = key.split(' ')[1] as Address
      if (balance > 0n && !first.has(address)) first.set(address, day)
    }
  }
  const supply = -chains.reduce(
    (sum, chain) => sum + (balances.get(`${chain} ${zeroAddress}`) ?? 0n),
    0n,
  )
  let rank = 0
  return [...wallets, ...leftOut]
    .map((address) => {
      const held = chains.filter((chain) => (balances.get(`${chain} ${address}`) ?? 0n) > 0n)
      const sum = held.reduce(
        (total, chain) => total + (balances.get(`${chain} ${address}`) ?? 0n),
        0n,
      )
      const own = known.filter(
        ({ chain, from, to, value }) =>
          held.includes(chain) && value > 0n && [from, to].includes(address),
      )
      return { address, sum, last: startOfDay(Math.max(...own.map(({ unix }) => unix))) }
    })
    .filter(({ sum }) => sum > 0n)
    .sort((a, b) => (a.sum === b.sum ? (a.address > b.address ? -1 : 1) : a.sum > b.sum ? -1 : 1))
    .map(({ address, sum, last }) => {
      const excluded = leftOut.includes(address)
      if (!excluded) rank += 1
      return {
        rank: excluded ? null : rank,
        address: showAddress(address),
        balanceRaw: String(sum),
        sharePct: percentage(sum, supply),
        excluded,
        firstSeenUnix: excluded ? null : (first.get(address) ?? null),
        lastSeenUnix: last,
      }
    })
}

function changeOver(days: number, shown: string, chains: readonly string[]): string {
  const address = shown.toLowerCase()
  const fromUnix = timeOf(BLOCKS) - days * DAY_SECONDS + 1
  const hourUnix = Math.ceil(fromUnix / HOUR_SECONDS) * HOUR_SECONDS
  const known = moves.filter(({ chain, unix }) => chains.includes(chain) && unix >= hourUnix)
  const sum = (own: readonly Move[]) => own.reduce((total, { value }) => total + value, 0n)
  const received = sum(known.filter(({ to }) => to === address))
  return String(received - sum(known.filter(({ from }) => from === address)))
}

async function inWorld(register: Engine, work: (routes: readonly Route[]) => Promise<void>) {
  const nodes = await Promise.all(
    ([8453, 1] as const).map((id) => {
      const name = id === 1 ? 'ethereum' : 'base'
      let chain = beginChain(id, GENESIS_UNIX)
      for (let block = 1; block <= BLOCKS; block += 1)
        chain = chain.add({
          secondsApart: block === 1 ? SILENCE : SECONDS_APART,
          logs: moves
            .filter((each) => each.chain === name && each.block === block)
            .map(({ from, to, value }) => logOf.transfer(grave, from, to, value)),
        })
      return serveChain(chain, { safeDepth: 2, finalDepth: FINAL_DEPTH })
    }),
  )
  const [base, ethereum] = nodes
  const ecosystem = localEcosystemAt({ base: base?.url ?? '', ethereum: ethereum?.url ?? '' })
  try {
    await advanceAll(stepIndex(await commitDepsOf(register, ecosystem)), ecosystem.chains)
    const clock = () => timeOf(BLOCKS + 1) * 1_000
    await work(dataRoutesOf({ register, ecosystem, clock }))
  } finally {
    for (const node of nodes) await node.stop()
  }
}

const bothChains = ['base', 'ethereum']

const SCOPES: readonly (readonly [query: string, chains: readonly string[]])[] = [
  ['', bothChains],
  ['&chain=base', ['base']],
  ['&chain=ethereum', ['ethereum']],
]

onEach('holders are ranked as a recount of every transfer ranks them', ({ engine }) =>
  inWorld(engine, async (routes) => {
    for (const [query, chains] of SCOPES) {
      const expected = recount(chains)
      const { data } = (await readRoute(routes, `/api/holders?limit=100${query}`)) as Listed
      assert.deepEqual(data.map(pick), expected, query)
      for (const limit of [1, 3, 5]) assert.deepEqual(await walk(routes, { query, limit }), data)
      for (const each of expected) {
        const path = `/api/holders/${each.address}?token=GRAVE${query}`
        const own = (await readRoute(routes, path)) as { readonly data: Row & ByChain }
        assert.deepEqual(pick(own.data), each, path)
        const sum = own.data.chains.reduce(
          (total, { balanceRaw }) => total + BigInt(balanceRaw),
          0n,
        )
        assert.equal(String(sum), each.balanceRaw)
        const { change24hRaw, change7dRaw, change30dRaw } = own.data
        const changes = [1, 7, 30].map((days) => changeOver(days, each.address, chains))
        assert.deepEqual([change24hRaw, change7dRaw, change30dRaw], changes, path)
      }
    }
  }),
)

onEach('a wallet that never held any, and the zero address, have zeros and no rank', ({ engine }) =>
  inWorld(engine, async (routes) => {
    for (const path of [`0x${'99'.repeat(20)}`, zeroAddress]) {
      const body = await readRoute(routes, `/api/holders/${path}`)
      const { data } = body as { readonly data: Row & ByChain }
      const { rank, balance, sharePct, firstSeenUnix, lastSeenUnix, change30d, chains } = data
      const figures = [rank, balance, sharePct, firstSeenUnix, lastSeenUnix, change30d]
      assert.deepEqual(figures, [null, '0', 0, null, null, '0'])
      assert.deepEqual(
        chains.map((each) => each.balanceRaw),
        ['0', '0'],
      )
    }
  }),
)

onEach('another filter and another token are refused', ({ engine }) =>
  inWorld(engine, async (routes) => {
    const { meta } = (await readRoute(routes, '/api/holders?limit=2')) as Listed
    const cursor = meta.page.nextCursor
    for (const query of ['chain=base', 'token=CRYPT']) {
      const refused = await refusalOf(routes, `/api/holders?cursor=${cursor}&${query}`)
      assert.equal(refused.code, 'invalid_cursor')
    }
    const reward = await refusalOf(routes, '/api/holders?token=USDC')
    assert.deepEqual(reward.errors?.[0]?.allowed, ['GRAVE', 'CRYPT'])
    const csv = await callRoute(routes, '/api/holders?format=csv&limit=2')
    assert.ok(csv.kind === 'answer')
    assert.match(String(csv.body), /^rank,address,token,balance,balanceRaw,sharePct,excluded,/)
  }),
)

type Row = Expected & Readonly<Record<string, unknown>>

interface ByChain {
  readonly chains: readonly { readonly balanceRaw: string }[]
}

interface Listed {
  readonly data: readonly Row[]
  readonly meta: { readonly page: { readonly nextCursor: string | null } }
}

function pick(row: Expected): Expected {
  const { rank, address, balanceRaw, sharePct, excluded, firstSeenUnix, lastSeenUnix } = row
  return { rank, address, balanceRaw, sharePct, excluded, firstSeenUnix, lastSeenUnix }
}

async function walk(
  routes: readonly Route[],
  { query, limit }: { readonly query: string; readonly limit: number },
): Promise<readonly Row[]> {
  const rows: Row[] = []
  for (let cursor = ''; ; ) {
    const path = `/api/holders?limit=${limit}${query}${cursor}`
    const { data, meta } = (await readRoute(routes, path)) as Listed
    rows.push(...data)
    const { nextCursor } = meta.page
    if (nextCursor === null) return rows
    cursor = `&cursor=${nextCursor}`
  }
}
