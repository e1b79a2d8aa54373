import { benchAddresses } from './bench-ecosystem.ts'
import { writeWord32 } from './hex-writer.ts'
import { mixWord } from './random-words.ts'

/** Accounts that are not made up; they stand behind the holders. */
const specials = [
  benchAddresses.dead,
  benchAddresses.zero,
  benchAddresses.usdc,
  benchAddresses.weth,
  benchAddresses.payTo,
] as const

/** The holder that the ecosystem file calls the treasury. */
export const TREASURY_INDEX = 1

/** Addresses by index: holders by rank first, then the accounts with a meaning. */
export class AccountTable {
  readonly holders: number
  readonly dead: number
  readonly zero: number
  readonly usdc: number
  readonly weth: number
  readonly payTo: number
  /** Balances are kept of the accounts below this index. */
  readonly owners: number
  readonly #seed: number
  readonly #digits: Uint32Array

  constructor(holders: number, seed: number) {
    this.holders = holders
    this.#seed = seed
    this.dead = holders
    this.zero = holders + 1
    this.usdc = holders + 2
    this.weth = holders + 3
    this.payTo = holders + 4
    this.owners = holders + 1
    this.#digits = new Uint32Array((holders + specials.length) * 10)
    const view = new DataView(this.#digits.buffer)
    for (let index = 0; index < holders; index += 1) this.#writeHolder(view, index)
    this.#writeText(TREASURY_INDEX, benchAddresses.treasury)
    for (const [place, address] of specials.entries()) this.#writeText(holders + place, address)
  }

  /** Writes the 40 digits of an address. */
  write(view: DataView, at: number, index: number): void {
    const start = index * 10
    for (let word = 0; word < 10; word += 1)
      view.setUint32(at + word * 4, this.#digits[start + word] ?? 0, true)
  }

  /** The address of an account, lower-case. */
  addressOf(index: number): `0x${string}` {
    const bytes = Buffer.from(this.#digits.buffer, index * 40, 40)
    return `0x${bytes.toString('latin1')}`
  }

  /** The index of an address, or undefined when nobody here has it. */
  indexOf(address: string): number | undefined {
    const text = address.toLowerCase()
    const special = specials.map(String).indexOf(text)
    if (special >= 0) return this.holders + special
    if (text === benchAddresses.treasury) return TREASURY_INDEX
    const second = Number.parseInt(text.slice(10, 18), 16)
    const index = (Number.parseInt(text.slice(2, 10), 16) ^ mixWord(this.#seed + 9, second)) >>> 0
    return index < this.holders && this.addressOf(index) === text ? index : undefined
  }

  /** The second word hides the index in the first, so that an address leads back to its index. */
  #writeHolder(view: DataView, index: number): void {
    const second = mixWord(this.#seed + 1, index)
    writeWord32(view, index * 40, index ^ mixWord(this.#seed + 9, second))
    writeWord32(view, index * 40 + 8, second)
    for (let word = 2; word < 5; word += 1)
      writeWord32(view, index * 40 + word * 8, mixWord(this.#seed + word, index))
  }

  #writeText(index: number, address: string): void {
    Buffer.from(this.#digits.buffer, index * 40, 40).write(address.slice(2), 'latin1')
  }
}
