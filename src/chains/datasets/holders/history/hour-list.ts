import { free } from '#lib/free.ts'
import { HOUR_SECONDS } from '#lib/time.ts'
import type { AddressTable } from './address-table.ts'
import { BalanceColumns, type PackedBalances } from './balance-columns.ts'
import { byAddress } from './by-address.ts'
import { NumberList } from './number-list.ts'

export interface HourPart {
  readonly count: number
  /** `ADDRESS_WORDS` each. */
  readonly addresses: Uint32Array<ArrayBuffer>
  readonly hours: Float64Array<ArrayBuffer>
  readonly balances: PackedBalances
}

/** Balances before the first movement of an hour, 36 bytes each. */
export class HourList {
  readonly #ids = new NumberList()
  readonly #hours = new NumberList()
  readonly #balances = new BalanceColumns()
  #count = 0

  push(id: number, hourUnix: number, balances: BalanceColumns): void {
    this.#ids.push(id)
    this.#hours.push(hourUnix / HOUR_SECONDS)
    this.#balances.copy(this.#count, balances, id)
    this.#count += 1
  }

  /** Returns the rows in the order of the table's key. */
  take(addresses: AddressTable): OpenedHours {
    const ids = this.#ids.all()
    const hours = this.#hours.all()
    const places = Float64Array.from({ length: this.#count }, (_, place) => place)
    const order = byAddress(addresses, places, (place) => ids[place] ?? 0)
    const opened = new OpenedHours(addresses, {
      ids: order.map((place) => ids[place] ?? 0),
      hours: order.map((place) => (hours[place] ?? 0) * HOUR_SECONDS),
      balances: this.#balances.pick(order),
    })
    for (const each of [ids, hours, places, order]) free(each)
    this.#balances.free()
    return opened
  }
}

interface Rows {
  readonly ids: Float64Array<ArrayBuffer>
  readonly hours: Float64Array<ArrayBuffer>
  readonly balances: BalanceColumns
}

export class OpenedHours {
  readonly #addresses: AddressTable
  readonly #rows: Rows

  constructor(addresses: AddressTable, rows: Rows) {
    this.#addresses = addresses
    this.#rows = rows
  }

  get count(): number {
    return this.#rows.ids.length
  }

  part(from: number, to: number): HourPart {
    const { ids, hours, balances } = this.#rows
    const own = hours.slice(from, to)
    return {
      count: own.length,
      addresses: this.#addresses.words(ids.subarray(from, to)),
      hours: own,
      balances: balances.packed(from, from + own.length),
    }
  }

  /** Frees the memory; the rows cannot be used afterwards. */
  free(): void {
    free(this.#rows.ids)
    free(this.#rows.hours)
    this.#rows.balances.free()
  }
}
