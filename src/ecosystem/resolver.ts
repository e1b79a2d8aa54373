import { type Address, parseAddress, ZERO_ADDRESS } from '#base/address.ts'
import { type MicroUsd, parseDecimal } from '#base/money.ts'
import type { Chain, PricedToken } from './priced-token.ts'
import type { Problems } from './problem.ts'

/** Look-ups that report a problem when they fail. References to invalid entries are not reported again. */
export class Resolver {
  /** Where it stands in the file, such as `tokens[0].price`. */
  field = ''
  readonly problems: Problems
  readonly chains = new Map<string, Chain>()
  /** Keyed by upper-case symbol. */
  readonly tokens = new Map<string, PricedToken>()
  /** Tokens whose price was reported already. */
  readonly wronglyPriced = new Set<PricedToken>()
  primary: PricedToken | undefined
  secondary: PricedToken | null = null
  burnAddresses: readonly Address[] = []
  /** The invalid entries of the file, by part. */
  readonly left: Readonly<Record<string, readonly unknown[]>>

  constructor(problems: Problems, left: Resolver['left']) {
    this.problems = problems
    this.left = left
  }

  /** One that shares all with this, and stands at a member of its place. Assign members on the root only. */
  at(member: string): Resolver {
    return Object.assign(Object.create(this), { field: pathOf(this.field, member) })
  }

  /** `member` may be a path below this place. */
  report(member: string, message: string): undefined {
    return this.problems.add(pathOf(this.field, member), message)
  }

  /** Some entries are invalid, so missing ones are not reported. */
  isLeftOut(part: string): boolean {
    return (this.left[part] ?? []).length > 0
  }

  chain(member: string, name: string): Chain | undefined {
    const chain = this.chains.get(name)
    if (chain !== undefined) return chain
    if (this.isInvalid('chains', 'name', name)) return { ...STAND_IN, name }
    const known = [...this.chains.keys()].join(', ')
    return this.report(member, `unknown chain "${name}"; known: ${known}`)
  }

  token(member: string, symbol: string): PricedToken | undefined {
    const token = this.tokens.get(symbol.toUpperCase())
    if (token !== undefined || this.isInvalid('tokens', 'symbol', symbol)) return token
    const known = [...this.tokens.values()].map((each) => each.symbol).join(', ')
    return this.report(member, `unknown token "${symbol}"; known: ${known}`)
  }

  tokenAt(chain: Chain, address: Address): PricedToken | undefined {
    return [...this.tokens.values()].find(({ addresses }) => addresses.get(chain.name) === address)
  }

  address(member: string, text: string): Address {
    const address = parseAddress(text)
    if (address === undefined)
      this.report(
        member,
        `${text} has a wrong checksum (EIP-55); copy the address again or write it in lower case`,
      )
    return address ?? ZERO_ADDRESS
  }

  dollars(member: string, text: string): MicroUsd {
    const amount = parseDecimal(text, 6)
    if (amount === undefined)
      this.report(member, 'has more than 6 decimals; the smallest unit is a micro-dollar')
    return amount ?? 0n
  }

  /** Whether an invalid entry has this name, or none that can be read. */
  isInvalid(part: string, member: string, name: string): boolean {
    return (this.left[part] ?? []).some((entry) => {
      const own = Object(entry)[member]
      return typeof own !== 'string' || own.toUpperCase() === name.toUpperCase()
    })
  }
}

/** Stands for an invalid chain, so that references to it can still be checked. */
export const STAND_IN: Omit<Chain, 'name'> = {
  id: 0,
  rpcUrls: [],
  explorerUrl: null,
  startBlock: 0,
  pollIntervalMs: 1_000,
  finality: 'tag',
  staleAfterSeconds: 60,
  proofs: 'deposits',
}

function pathOf(...names: readonly string[]): string {
  return names.filter((name) => name !== '').join('.')
}
