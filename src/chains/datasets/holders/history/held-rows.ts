import { free } from '#lib/free.ts'
import { DAY_SECONDS } from '#lib/time.ts'
import type { AddressTable } from './address-table.ts'
import type { BalanceColumns, PackedBalances } from './balance-columns.ts'

export interface HeldPart {
  readonly count: number
  /** `ADDRESS_WORDS` each. */
  readonly addresses: Uint32Array<ArrayBuffer>
  readonly balances: PackedBalances
  /** First UTC day of holding; NaN for non-holders. */
  readonly since: Float64Array<ArrayBuffer>
  /** The last transfer of more than zero. */
  readonly last: Float64Array<ArrayBuffer>
}

export const NO_DAY = -1

/**
 * A snapshot of balances, 32 bytes each. Addresses never change, so they are looked up when rows
 * are made.
 */
export class HeldRows {
  readonly #addresses: AddressTable
  readonly #ids: Uint32Array<ArrayBuffer>
  readonly #balances: BalanceColumns
  readonly #since: Int32Array<ArrayBuffer>
  readonly #last: Uint32Array<ArrayBuffer>

  constructor(
    addresses: AddressTable,
    ids: Float64Array<ArrayBuffer>,
    held: {
      readonly balances: BalanceColumns
      dayOf(id: number): number
      lastOf(id: number): number
    },
  ) {
    this.#addresses = addresses
    this.#ids = new Uint32Array(ids)
    this.#balances = held.balances.pick(ids)
    this.#since = new Int32Array(ids.length)
    this.#last = new Uint32Array(ids.length)
    for (let place = 0; place < ids.length; place += 1) {
      this.#since[place] = held.dayOf(ids[place] ?? 0)
      this.#last[place] = held.lastOf(ids[place] ?? 0)
    }
  }

  get count(): number {
    return this.#ids.length
  }

  part(from: number, to: number): HeldPart {
    const days = this.#since.subarray(from, to)
    return {
      count: days.length,
      addresses: this.#addresses.words(this.#ids.subarray(from, to)),
      balances: this.#balances.packed(from, from + days.length),
      since: Float64Array.from(days, (day) => (day === NO_DAY ? Number.NaN : day * DAY_SECONDS)),
      last: Float64Array.from(this.#last.subarray(from, to)),
    }
  }

  /** Releases the memory; do not use the rows afterwards. */
  free(): void {
    free(this.#ids)
    free(this.#since)
    free(this.#last)
    this.#balances.free()
  }
}
