import { free } from '#lib/free.ts'
import { DAY_SECONDS } from '#lib/time.ts'
import type { AddressTable } from './address-table.ts'
import type { BalanceColumns } from './balance-columns.ts'

/** Some of them, as columns in the order of the rows. */
export interface HeldPart {
  readonly count: number
  /** `ADDRESS_WORDS` each. */
  readonly addresses: Uint32Array<ArrayBuffer>
  /** `VALUE_LIMBS` each. */
  readonly balances: Uint32Array<ArrayBuffer>
  /** UTC days at whose ends they began to hold; not a number for one who is no holder. */
  readonly since: Float64Array<ArrayBuffer>
}

/** No day since 1970. */
export const NO_DAY = -1

/**
 * Balances as they stood at one moment, in 28 bytes each: addresses never change and are looked up when
 * the rows are made, a part at a time.
 */
export class HeldRows {
  readonly #addresses: AddressTable
  readonly #ids: Uint32Array<ArrayBuffer>
  readonly #balances: BalanceColumns
  /** Days since 1970, or `NO_DAY`. */
  readonly #since: Int32Array<ArrayBuffer>

  constructor(
    addresses: AddressTable,
    ids: Float64Array<ArrayBuffer>,
    held: { readonly balances: BalanceColumns; dayOf(id: number): number },
  ) {
    this.#addresses = addresses
    this.#ids = new Uint32Array(ids)
    this.#balances = held.balances.pick(ids)
    this.#since = new Int32Array(ids.length)
    for (let place = 0; place < ids.length; place += 1)
      this.#since[place] = held.dayOf(ids[place] ?? 0)
  }

  get count(): number {
    return this.#ids.length
  }

  part(from: number, to: number): HeldPart {
    const days = this.#since.subarray(from, to)
    return {
      count: days.length,
      addresses: this.#addresses.words(this.#ids.subarray(from, to)),
      balances: this.#balances.words(from, from + days.length),
      since: Float64Array.from(days, (day) => (day === NO_DAY ? Number.NaN : day * DAY_SECONDS)),
    }
  }

  /** Gives the memory back; there are no parts any more. */
  free(): void {
    free(this.#ids)
    free(this.#since)
    this.#balances.free()
  }
}
