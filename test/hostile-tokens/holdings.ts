import { type Address, zeroAddress } from 'viem'
import type { BuiltChain, LogPlan } from '#test/chain-builder/built-chain.ts'
import { TRANSFER } from './hostile-logs.ts'

/** What everybody holds on one branch, as far as ordinary transfers say. */
export class Holdings {
  readonly #balances: Map<string, bigint>

  private constructor(balances: Map<string, bigint>) {
    this.#balances = balances
  }

  static at(chain: BuiltChain): Holdings {
    const holdings = new Holdings(new Map())
    for (const block of chain.blocks) holdings.add(block.logs)
    return holdings
  }

  copy(): Holdings {
    return new Holdings(new Map(this.#balances))
  }

  of(token: Address, holder: Address): bigint {
    return this.#balances.get(keyOf(token, holder)) ?? 0n
  }

  add(logs: readonly Pick<LogPlan, 'address' | 'topics' | 'data'>[]): void {
    for (const { address, topics, data } of logs) {
      const [event, from, to] = topics
      const isTransfer = event === TRANSFER && topics.length === 3 && data.length === 66
      if (!isTransfer || from === undefined || to === undefined) continue
      this.#move(address, `0x${from.slice(26)}`, -BigInt(data))
      this.#move(address, `0x${to.slice(26)}`, BigInt(data))
    }
  }

  /** Whether one of these tokens has a holder who sent more than it received. */
  isOverdrawn(tokens: readonly Address[]): boolean {
    const begins = tokens.map((token) => token.toLowerCase())
    return [...this.#balances].some(
      ([key, balance]) =>
        balance < 0n && !key.endsWith(zeroAddress) && begins.some((token) => key.startsWith(token)),
    )
  }

  #move(token: Address, holder: Address, amount: bigint): void {
    const key = keyOf(token, holder)
    this.#balances.set(key, (this.#balances.get(key) ?? 0n) + amount)
  }
}

function keyOf(token: Address, holder: Address): string {
  return `${token} ${holder}`.toLowerCase()
}
