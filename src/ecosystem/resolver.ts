import { type Address, parseAddress, ZERO_ADDRESS } from '#base/address.ts'
import type { EcosystemFile } from './ecosystem-file.ts'
import type { Chain, PricedToken } from './priced-token.ts'

export interface Problem {
  /** Path of the field, such as `chains[0].rpcUrls`. */
  readonly field: string
  readonly message: string
}

export class Problems {
  readonly list: Problem[] = []
  /** Indexes in the file, by part, of the list entries that are kept. */
  places: Readonly<Record<string, readonly number[]>> = {}

  add(field: string, message: string): undefined {
    const inFile = field.replace(
      /^([A-Za-z]+)\[([0-9]+)\]/,
      (whole, part: string, index: string) => {
        const place = this.places[part]?.[Number(index)]
        return place === undefined ? whole : `${part}[${place}]`
      },
    )
    this.list.push({ field: inFile, message })
    return undefined
  }
}

/** One line per mistake: file, field, what is wrong, what would be right. */
export class EcosystemError extends Error {
  override readonly name = 'EcosystemError'
  readonly problems: readonly Problem[]

  constructor(file: string, problems: readonly Problem[]) {
    super(problems.map(({ field, message }) => `${file}: ${field}: ${message}`).join('\n'))
    this.problems = problems
  }
}

/** The file without its invalid entries, and these, by part. */
export interface Shaped {
  readonly file: EcosystemFile
  readonly left: Readonly<Record<string, readonly unknown[]>>
}

/** Look-ups that report a problem when they fail. References to invalid entries are not reported again. */
export class Resolver {
  readonly problems: Problems
  readonly chains = new Map<string, Chain>()
  /** By upper-case symbol. */
  readonly tokens = new Map<string, PricedToken>()
  readonly #shaped: Shaped

  constructor(shaped: Shaped, problems: Problems) {
    this.#shaped = shaped
    this.problems = problems
  }

  /** Some entries are invalid, so missing ones are not reported. */
  isLeftOut(part: string): boolean {
    return (this.#shaped.left[part] ?? []).length > 0
  }

  /** Its price was reported already. */
  hasInvalidPrice({ symbol, prices }: PricedToken): boolean {
    const { tokens } = this.#shaped.file
    return prices.length === 0 && tokens.some((each) => each.symbol === symbol && each.price)
  }

  chain(field: string, name: string): Chain | undefined {
    const chain = this.chains.get(name)
    if (chain !== undefined) return chain
    if (this.#isInvalid('chains', 'name', name)) return { ...STAND_IN, name }
    const known = [...this.chains.keys()].join(', ')
    return this.problems.add(field, `unknown chain "${name}"; known: ${known}`)
  }

  token(field: string, symbol: string): PricedToken | undefined {
    const token = this.tokens.get(symbol.toUpperCase())
    if (token !== undefined || this.#isInvalid('tokens', 'symbol', symbol)) return token
    const known = [...this.tokens.values()].map((each) => each.symbol).join(', ')
    return this.problems.add(field, `unknown token "${symbol}"; known: ${known}`)
  }

  tokenAt(chain: Chain, address: Address): PricedToken | undefined {
    return [...this.tokens.values()].find(({ addresses }) => addresses.get(chain.name) === address)
  }

  address(field: string, text: string): Address {
    const address = parseAddress(text)
    if (address === undefined)
      this.problems.add(
        field,
        `${text} has a wrong checksum (EIP-55); copy the address again or write it in lower case`,
      )
    return address ?? ZERO_ADDRESS
  }

  /** Whether an invalid entry has this name, or none that can be read. */
  #isInvalid(part: string, member: string, name: string): boolean {
    return (this.#shaped.left[part] ?? []).some((entry) => {
      const own = Object(entry)[member]
      return typeof own !== 'string' || own.toUpperCase() === name.toUpperCase()
    })
  }
}

/** Replaces an invalid chain, so that references to it can still be checked. */
const STAND_IN: Omit<Chain, 'name'> = {
  id: 0,
  rpcUrls: [],
  explorerUrl: null,
  startBlock: 0,
  pollIntervalMs: 1_000,
  finality: 'tag',
  staleAfterSeconds: 60,
  proofs: 'deposits',
}
