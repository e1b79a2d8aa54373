import { type Address, type Hex, zeroAddress } from 'viem'
import { accounts, addresses, burnAddress, type ChainName } from '#devnet/addresses.ts'
import type { BlockPlan, BuiltChain, LogPlan } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import type { Chance } from './chance.ts'

/** How much happens, and how far apart in time. */
export interface Pace {
  readonly secondsApart: number
  readonly transactionsPerBlock: number
}

/** What chance brings to one chain: new blocks, and other branches of old ones. */
export interface ChainLife {
  grow(chain: BuiltChain, count: number, pace: Pace): BuiltChain
  /**
   * Another branch above an ancestor: the old transactions again, but some dropped, some later,
   * some in another order, some new among them.
   */
  rewrite(chain: BuiltChain, ancestor: number, count: number, pace: Pace): BuiltChain
}

const DAY_SECONDS = 86_400

const strangers = Array.from(
  { length: 14 },
  (_, index): Address => `0x${(0xa11ce000 + index * 7).toString(16).padStart(40, '0')}`,
)

const people: readonly [Address, ...Address[]] = [
  accounts.operator,
  accounts.holder,
  accounts.premium,
  accounts.poor,
  accounts.relayer,
  accounts.treasury,
  burnAddress,
  zeroAddress,
  ...strangers,
]

type Transaction = readonly LogPlan[]

/** What another branch has in place of a block that it leaves. */
interface GivenBlock {
  readonly transactions: readonly Transaction[]
  /** The block's own time, where slots are fixed. */
  readonly secondsApart: number | undefined
}

/** Opens the life of one chain. */
export function makeChainLife(chance: Chance, name: ChainName): ChainLife {
  const plans = new Map<Hex, readonly Transaction[]>()
  let transactions = 0

  function newTransaction(balances: Balances): Transaction {
    transactions += 1
    const transaction = `${name} ${transactions}`
    const count = chance.weighted([
      [8, 1],
      [2, 2],
      [1, 5],
    ])
    return Array.from({ length: count }, () => newLog(chance, name, balances)).map((log) => ({
      ...log,
      transaction,
    }))
  }

  function newTransactions(balances: Balances, pace: Pace): readonly Transaction[] {
    const most = chance.happens(0.05) ? 12 : Math.ceil(pace.transactionsPerBlock * 2)
    const isQuiet = chance.happens(1 - Math.min(1, pace.transactionsPerBlock))
    if (isQuiet) return []
    return Array.from({ length: chance.integer(1, Math.max(1, most)) }, () =>
      newTransaction(balances),
    )
  }

  function build(
    chain: BuiltChain,
    count: number,
    pace: Pace,
    given: readonly GivenBlock[],
  ): BuiltChain {
    const balances = balancesOf(chain)
    const blocks: BlockPlan[] = []
    const contents: (readonly Transaction[])[] = []
    let { timestamp } = chain.head
    for (let index = 0; index < count; index += 1) {
      const { transactions = [], secondsApart: givenSeconds } = given[index] ?? {}
      const kept = transactions.map((each) => each.filter((log) => move(balances, log)))
      const fresh =
        index < given.length && chance.happens(0.7) ? [] : newTransactions(balances, pace)
      const all = [...kept, ...fresh].filter((each) => each.length > 0)
      const secondsApart = givenSeconds ?? timeToNext(chance, timestamp, pace)
      timestamp += secondsApart
      contents.push(all)
      blocks.push({ secondsApart, logs: all.flat() })
    }
    const grown = chain.add(...blocks)
    for (const [index, content] of contents.entries())
      plans.set(grown.at(chain.blocks.length + index).hash, content)
    return grown
  }

  return {
    grow: (chain, count, pace) => build(chain, count, pace, []),
    rewrite(chain, ancestor, count, pace) {
      const given = givenOf(chance, chain, ancestor, plans)
      return build(chain.fork(ancestor), count, pace, given)
    },
  }
}

function givenOf(
  chance: Chance,
  chain: BuiltChain,
  ancestor: number,
  plans: ReadonlyMap<Hex, readonly Transaction[]>,
): readonly GivenBlock[] {
  const blocks = chain.blocks.slice(ancestor + 1)
  const old = disturb(
    chance,
    blocks.map((block) => plans.get(block.hash) ?? []),
  )
  const keepsTimes = chance.happens(0.5)
  return blocks.map(({ number, timestamp }, index) => ({
    transactions: old[index] ?? [],
    secondsApart: keepsTimes ? timestamp - chain.at(number - 1).timestamp : undefined,
  }))
}

/** Transactions of blocks that a branch leaves, as another branch may have them. */
function disturb(
  chance: Chance,
  blocks: readonly (readonly Transaction[])[],
): readonly (readonly Transaction[])[] {
  const out: Transaction[][] = blocks.map(() => [])
  for (const [index, block] of blocks.entries())
    for (const transaction of block) {
      if (chance.happens(0.15)) continue
      const target = out[index + Number(chance.happens(0.2))] ?? out[index]
      if (chance.happens(0.3)) target?.unshift(transaction)
      else target?.push(transaction)
    }
  return out
}

function timeToNext(chance: Chance, timestamp: number, pace: Pace): number {
  const toMidnight = DAY_SECONDS - (timestamp % DAY_SECONDS)
  if (chance.happens(0.04)) return toMidnight - chance.integer(0, Math.min(1, toMidnight))
  if (chance.happens(0.02)) return toMidnight + chance.integer(0, 1)
  if (chance.happens(0.01)) return chance.integer(1, 3) * DAY_SECONDS
  return chance.integer(0, pace.secondsApart * 2)
}

function newLog(chance: Chance, name: ChainName, balances: Balances): LogPlan {
  const { grave, crypt, usdc, weth, distributor, graveyard, ethUsdFeed } = addresses[name]
  const { gravePair, cryptPair } = addresses.base.market
  const token = chance.pick([grave, crypt])
  const who = chance.pick(people)
  // From zero to zero, nobody would hold what was minted.
  const owner = who === zeroAddress ? accounts.operator : who
  const reward = () => chance.pick([grave, crypt, usdc, weth, accounts.poor])
  const transfer = () => moveShare(chance, balances, token)
  const make = chance.weighted<() => LogPlan>([
    [40, transfer],
    [6, () => logOf.mint(token, owner, amountOf(chance) * 100n)],
    [10, () => logOf.claim(distributor, who, reward(), amountOf(chance))],
    [3, () => logOf.distribution(distributor, reward(), amountOf(chance))],
    [5, () => logOf.dig(graveyard, who, BigInt(chance.integer(0, 9)), amountOf(chance))],
    [
      6,
      () => logOf.sync(chance.pick([gravePair, cryptPair]), reserveOf(chance), reserveOf(chance)),
    ],
    [3, () => logOf.answer(ethUsdFeed, priceOf(chance), BigInt(chance.integer(1, 99)))],
    [6, () => logOf.transfer(usdc, who, accounts.payTo, BigInt(chance.integer(0, 9_000_000)))],
    [2, () => logOf.transfer(usdc, who, chance.pick(people), 5n)],
    [1, () => ({ ...logOf.transfer(token, who, who, 1n), data: '0x' })],
  ])
  const log = make()
  if (move(balances, log)) return log
  const mint = logOf.mint(token, owner, amountOf(chance))
  move(balances, mint)
  return mint
}

function priceOf(chance: Chance): bigint {
  return BigInt(chance.integer(-1, 5_000)) * 10n ** 8n
}

/** A pool keeps its reserves in 112 bits. */
function reserveOf(chance: Chance): bigint {
  return amountOf(chance) % 2n ** 112n
}

/** Of every size up to what 128 bits hold. */
function amountOf(chance: Chance): bigint {
  const digits = chance.integer(0, 26)
  return BigInt(chance.integer(1, 999_999_999)) * 10n ** BigInt(digits)
}

function moveShare(chance: Chance, balances: Balances, token: Address): LogPlan {
  const holders = [...balances].filter(
    ([key, amount]) => amount > 0n && key.startsWith(lower(token)),
  )
  const [key, balance] = holders[chance.integer(0, Math.max(0, holders.length - 1))] ?? []
  if (key === undefined || balance === undefined)
    return logOf.mint(token, accounts.operator, amountOf(chance))
  const to = chance.weighted([
    [8, chance.pick(people)],
    [1, burnAddress as Address],
    [1, zeroAddress],
  ])
  const part = BigInt(chance.pick([0, 1, 10, 50, 99, 100, 100]))
  return logOf.transfer(token, key.slice(43) as Address, to, (balance * part) / 100n)
}

function lower(address: Address): string {
  return address.toLowerCase()
}

/** Balances by token and owner at a head. */
type Balances = Map<string, bigint>

const tokens = new Set([lower(addresses.base.grave), lower(addresses.base.crypt)])

export function balancesOf(chain: BuiltChain): Balances {
  const balances: Balances = new Map()
  for (const block of chain.blocks) for (const log of block.logs) move(balances, log)
  return balances
}

/** Moves what a transfer of the two tokens moves; false where its sender does not have that much. */
function move(
  balances: Balances,
  { address, topics, data }: Omit<LogPlan, 'transaction'>,
): boolean {
  const [, from, to] = topics
  const isTransfer = tokens.has(lower(address)) && topics.length === 3 && data !== '0x'
  if (!isTransfer || from === undefined || to === undefined) return true
  const [sender, receiver] = [from, to].map((topic) => `${lower(address)} 0x${topic.slice(26)}`)
  if (sender === undefined || receiver === undefined) return false
  const amount = BigInt(data)
  if (!sender.endsWith(zeroAddress)) {
    const balance = balances.get(sender) ?? 0n
    if (balance < amount) return false
    balances.set(sender, balance - amount)
  }
  if (!receiver.endsWith(zeroAddress))
    balances.set(receiver, (balances.get(receiver) ?? 0n) + amount)
  return true
}
