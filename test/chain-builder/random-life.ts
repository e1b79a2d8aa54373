import fc from 'fast-check'
import { type Address, zeroAddress } from 'viem'
import { accounts, addresses, burnAddress, type ChainName } from '#devnet/addresses.ts'
import type { BlockPlan, BuiltChain, LogPlan } from './built-chain.ts'
import { logOf } from './log-plans.ts'

/** One thing that happens, as far as chance decides it; the branch decides what it comes to. */
export interface Deed {
  readonly kind: (typeof kinds)[number]
  readonly who: number
  readonly whom: number
  /** Percent of a balance, or a number that amounts are made of. */
  readonly size: number
}

export interface LivelyBlock {
  readonly secondsApart: number
  readonly deeds: readonly Deed[]
}

const kinds = [
  'mint',
  'moveGrave',
  'moveCrypt',
  'claim',
  'distribute',
  'dig',
  'sync',
  'answer',
  'deposit',
  'nonsense',
] as const

/** Blocks with deeds: same-second blocks, blocks that pass midnight, and days of silence. */
export const livelyBlocks: fc.Arbitrary<readonly LivelyBlock[]> = fc.array(
  fc.record({
    secondsApart: fc.constantFrom(0, 1, 2, 12, 3_600, 40_000, 86_400, 200_000),
    deeds: fc.array(
      fc.record({
        kind: fc.constantFrom(...kinds),
        who: fc.nat(7),
        whom: fc.nat(7),
        size: fc.integer({ min: 0, max: 100 }),
      }),
      { maxLength: 5 },
    ),
  }),
  { minLength: 1, maxLength: 6 },
)

const people: readonly Address[] = [
  accounts.operator,
  accounts.holder,
  accounts.premium,
  accounts.poor,
  accounts.relayer,
  accounts.treasury,
  burnAddress,
  zeroAddress,
]

/** The chain with the blocks on top; nobody sends what they do not have on this branch. */
export function live(
  chain: BuiltChain,
  name: ChainName,
  blocks: readonly LivelyBlock[],
): BuiltChain {
  const balances = balancesOf(chain)
  return blocks.reduce((grown, { secondsApart, deeds }) => {
    const logs = deeds.flatMap((deed) => logsOf(name, deed, balances))
    return grown.add({ secondsApart, logs } satisfies BlockPlan)
  }, chain)
}

/** As late as the branch that it replaces: on a branch that is hours behind, old prices would be young again. */
export function asLateAs(former: BuiltChain, chain: BuiltChain): BuiltChain {
  const behind = former.head.timestamp - chain.head.timestamp
  return behind > 0 ? chain.addEmpty(1, behind) : chain
}

type Balances = Map<string, bigint>

/** Balances by token and owner at the head of a branch. */
function balancesOf(chain: BuiltChain): Balances {
  const balances: Balances = new Map()
  for (const { address, topics, data } of chain.blocks.flatMap((block) => block.logs)) {
    const [, from, to] = topics
    if (topics.length !== 3 || from === undefined || to === undefined || data === '0x') continue
    add(balances, address, `0x${from.slice(26)}`, -BigInt(data))
    add(balances, address, `0x${to.slice(26)}`, BigInt(data))
  }
  return balances
}

function keyOf(token: Address, owner: Address): string {
  return `${token} ${owner}`.toLowerCase()
}

function add(balances: Balances, token: Address, owner: Address, amount: bigint): void {
  const key = keyOf(token, owner)
  balances.set(key, (balances.get(key) ?? 0n) + amount)
}

function person(index: number): Address {
  return people[index] ?? zeroAddress
}

function logsOf(name: ChainName, deed: Deed, balances: Balances): readonly LogPlan[] {
  const { grave, crypt, usdc, weth, distributor, graveyard, ethUsdFeed } = addresses[name]
  const who = person(deed.who)
  const amount = BigInt(deed.size) * 10n ** 15n
  const rewards = [grave, usdc, weth, accounts.poor]
  const reward = rewards[deed.whom % rewards.length] ?? usdc
  const { gravePair, cryptPair } = addresses.base.market
  switch (deed.kind) {
    case 'mint':
      // From zero to zero, nobody would hold what was minted.
      if (who === zeroAddress) return []
      return move(balances, deed.size % 2 === 0 ? grave : crypt, zeroAddress, who, amount * 1000n)
    case 'moveGrave':
      return moveShare(balances, grave, deed)
    case 'moveCrypt':
      return moveShare(balances, crypt, deed)
    case 'claim':
      return [logOf.claim(distributor, who, reward, amount)]
    case 'distribute':
      return [logOf.distribution(distributor, reward, amount)]
    case 'dig':
      return [logOf.dig(graveyard, who, BigInt(deed.whom), amount)]
    case 'sync':
      return [logOf.sync(deed.who % 2 === 0 ? gravePair : cryptPair, amount, amount * 3n + 1n)]
    case 'answer':
      return [logOf.answer(ethUsdFeed, BigInt(deed.size - 2) * 10n ** 8n, BigInt(deed.whom))]
    case 'deposit':
      return [logOf.transfer(usdc, who, accounts.payTo, amount)]
    case 'nonsense':
      return [{ ...logOf.transfer(grave, who, who, 1n), data: '0x' }]
  }
}

function moveShare(balances: Balances, token: Address, deed: Deed): readonly LogPlan[] {
  const [from, to] = [person(deed.who), person(deed.whom)]
  if (from === zeroAddress) return []
  const balance = balances.get(keyOf(token, from)) ?? 0n
  return move(balances, token, from, to, (balance * BigInt(deed.size)) / 100n)
}

function move(
  balances: Balances,
  token: Address,
  from: Address,
  to: Address,
  amount: bigint,
): readonly LogPlan[] {
  add(balances, token, from, -amount)
  add(balances, token, to, amount)
  return [logOf.transfer(token, from, to, amount)]
}
