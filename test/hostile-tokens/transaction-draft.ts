import { type Address, zeroAddress } from 'viem'
import {
  accounts,
  addresses,
  burnAddress,
  type ChainAddresses,
  type ChainName,
} from '#devnet/addresses.ts'
import type { LogPlan } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import type { Chance } from '#test/chance.ts'
import type { Holdings } from './holdings.ts'
import { payer, type WorldPlan } from './world-plan.ts'

/** Everybody who may hold a token; the zero address apart. */
export const people: readonly [Address, ...Address[]] = [
  accounts.operator,
  accounts.holder,
  accounts.premium,
  accounts.poor,
  accounts.treasury,
  payer,
  burnAddress,
  '0x00000000000000000000000000000000a11ce001',
  '0x00000000000000000000000000000000a11ce002',
]

export const U256_MAX = 2n ** 256n - 1n

/** One transaction while it is written. */
export class TransactionDraft {
  readonly chance: Chance
  readonly chain: ChainName
  readonly plan: WorldPlan
  readonly contracts: ChainAddresses
  readonly token: Address
  readonly logs: LogPlan[] = []
  readonly #holdings: Holdings

  constructor(input: {
    readonly chance: Chance
    readonly chain: ChainName
    readonly plan: WorldPlan
    readonly holdings: Holdings
  }) {
    this.chance = input.chance
    this.chain = input.chain
    this.plan = input.plan
    this.contracts = addresses[input.chain]
    this.#holdings = input.holdings
    this.token = this.chance.pick([
      this.contracts.grave,
      this.contracts.grave,
      this.contracts.crypt,
    ])
  }

  /** Anybody, the burn address included. */
  anybody(): Address {
    return this.chance.pick(people)
  }

  /** Anybody but burn addresses, which rarely send. */
  somebody(): Address {
    const who = this.anybody()
    return who === burnAddress ? accounts.holder : who
  }

  balance(holder: Address, token = this.token): bigint {
    return this.#holdings.of(token, holder)
  }

  /** The richest of a few: most people hold nothing at first. */
  holder(token = this.token): Address {
    const few = [this.somebody(), this.somebody(), this.somebody(), accounts.operator]
    return few.reduce((a, b) => (this.balance(b, token) > this.balance(a, token) ? b : a))
  }

  has(feature: Parameters<WorldPlan['features']['has']>[0]): boolean {
    return this.plan.features.has(feature)
  }

  add(...logs: readonly LogPlan[]): void {
    this.logs.push(...logs)
    this.#holdings.add(logs)
  }

  move(from: Address, to: Address, amount: bigint, token = this.token): void {
    this.add(logOf.transfer(token, from, to, amount))
  }

  mint(to: Address, amount: bigint): void {
    this.move(zeroAddress, to, amount)
  }

  burn(from: Address, amount: bigint): void {
    this.move(from, zeroAddress, amount)
  }

  /** A part of what a holder has, from nothing (if zero amounts are wanted) to all. */
  share(holder: Address, token = this.token): bigint {
    const balance = this.balance(holder, token)
    if (balance <= 0n) return 0n
    const part = (balance * BigInt(this.chance.pick([1, 10, 50, 99, 100, 100]))) / 100n
    return least(part === 0n ? balance : part, U256_MAX)
  }

  /** From one base unit to a few quintillion tokens of 18 decimals. */
  amount(): bigint {
    return BigInt(this.chance.integer(1, 999)) * this.unit()
  }

  unit(): bigint {
    return 10n ** BigInt(this.chance.pick([0, 3, 6, 12, 18, 24]))
  }
}

export function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
