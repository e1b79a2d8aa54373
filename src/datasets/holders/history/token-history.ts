import type { LogColumns } from '#chain/columns/log-columns.ts'
import { HASH_DIGITS, PLACE } from '#chain/columns/log-columns.ts'
import { type Address, ZERO_ADDRESS } from '#domain/address.ts'
import { DAY_SECONDS } from '#lib/day.ts'
import { addSupply, NO_SUPPLY, type SupplyChange } from '../fold-supply.ts'
import { AddressTable } from './address-table.ts'
import { BalanceColumns } from './balance-columns.ts'
import { byAddress } from './by-address.ts'
import { NumberList } from './number-list.ts'

/** What is known of one address, as bits. */
const LOCKED = 1
const IS_ZERO = 2
const MOVED_TODAY = 4
const MOVED = 8
/** It held at the end of the day before the present one. */
const HELD = 16
/** The present day is listed in the store as one on which it began or ceased to hold. */
const LISTED = 32
/** It has a balance in the store. */
const STORED = 64

const SPECIAL = LOCKED | IS_ZERO

/** Digits before the address in a topic. */
const TOPIC_PADDING = 24

/**
 * A day on which an address began or ceased to hold; `listed` false takes the day off the list.
 * There are hundreds of thousands at a time, so each is one number.
 */
interface TurningDay {
  readonly id: number
  readonly dayUnix: number
  readonly holds: boolean
  readonly listed: boolean
}

/** Days since 1970 fit until the year 2149, and with 32 bits of number the whole is exact. */
const DAYS_MAX = 1 << 16

function packTurn({ id, dayUnix, holds, listed }: TurningDay): number {
  const marks = Number(holds) * 2 + Number(listed)
  return (id * DAYS_MAX + dayUnix / DAY_SECONDS) * 4 + marks
}

function idOfTurn(turn: number): number {
  return Math.floor(turn / (4 * DAYS_MAX))
}

function dayOfTurn(turn: number): number {
  return (Math.floor(turn / 4) % DAYS_MAX) * DAY_SECONDS
}

function isListed(turn: number): boolean {
  return turn % 2 === 1
}

/**
 * What changed of a token since it was last stored, as it stood at one moment: columns in the order of
 * the rows. Nothing that is taken later touches it.
 */
export interface Changed {
  /** Who moved and holds: `ADDRESS_WORDS` and `VALUE_LIMBS` each. */
  readonly holders: {
    readonly count: number
    readonly addresses: Uint32Array
    readonly balances: Uint32Array
  }
  /** Days to list. */
  readonly days: {
    readonly count: number
    readonly addresses: Uint32Array
    readonly unix: Float64Array
    readonly holds: Float64Array
  }
  /** Who moved, holds no longer, and is still in the store. */
  readonly emptied: readonly Address[]
  /** Days that are no turns after all. */
  readonly unlisted: readonly { readonly address: Address; readonly dayUnix: number }[]
  /** One that sent more than it had. */
  readonly negative: Address | undefined
  /** By how many the holders on this chain changed, by UTC day. */
  readonly holderDays: ReadonlyMap<number, HolderCounts>
  readonly supply: ReadonlyMap<number, SupplyChange>
}

/** Addresses that began and that ceased to hold. */
export interface HolderCounts {
  readonly gained: number
  readonly lost: number
}

/** One token's balances on one chain while its history is read, oldest transfer first. */
export class TokenHistory {
  readonly symbol: string
  readonly addresses = new AddressTable()
  readonly balances = new BalanceColumns()
  #marks = new Uint8Array(1_024)
  #dayUnix = 0
  #movedToday: number[] = []
  #moved = new NumberList()
  #turns = new NumberList()
  #holders = new Map<number, HolderCounts>()
  #supply = new Map<number, SupplyChange>()

  constructor(symbol: string, locked: ReadonlySet<Address>) {
    this.symbol = symbol
    this.#mark(this.addresses.internAddress(ZERO_ADDRESS), IS_ZERO)
    for (const address of locked) {
      const id = this.addresses.internAddress(address)
      if (!this.#is(id, IS_ZERO)) this.#mark(id, LOCKED)
    }
  }

  /** Moves a transfer's value; gives false when the log is no transfer of this shape. */
  take(columns: LogColumns, index: number): boolean {
    const data = columns.place(index, PLACE.data)
    const from = columns.place(index, PLACE.topic1)
    const to = columns.place(index, PLACE.topic2)
    const hasShape =
      from !== 0 &&
      to !== 0 &&
      columns.place(index, PLACE.topic3) === 0 &&
      columns.place(index, PLACE.dataEnd) - data === HASH_DIGITS
    if (!hasShape) return false
    const sender = this.addresses.intern(columns.body, from + TOPIC_PADDING)
    const receiver = this.addresses.intern(columns.body, to + TOPIC_PADDING)
    this.balances.read(columns.body, data)
    if (!this.#is(sender, IS_ZERO)) this.balances.subtract(sender)
    if (!this.#is(receiver, IS_ZERO)) this.balances.add(receiver)
    this.#touch(sender)
    this.#touch(receiver)
    if (((this.#marks[sender] ?? 0) | (this.#marks[receiver] ?? 0)) & SPECIAL)
      this.#moveSupply(
        sender,
        receiver,
        BigInt(`0x${columns.body.toString('latin1', data, data + HASH_DIGITS)}`),
      )
    return true
  }

  /** All transfers from now on are of this day or a later one. */
  beginDay(dayUnix: number): void {
    this.#list()
    for (const id of this.#movedToday) {
      this.#unmark(id, MOVED_TODAY | LISTED | HELD)
      if (this.balances.isPositive(id)) this.#mark(id, HELD)
    }
    this.#movedToday = []
    this.#dayUnix = dayUnix
  }

  /** Takes up a stored balance. */
  restoreBalance(address: Address, balance: bigint): void {
    const id = this.addresses.internAddress(address)
    this.balances.set(id, balance)
    this.#mark(id, STORED)
  }

  /** Takes up the last stored turning day of an address. */
  restoreDay(address: Address, day: { readonly dayUnix: number; readonly holds: boolean }): void {
    const id = this.addresses.internAddress(address)
    const isToday = day.dayUnix === this.#dayUnix
    if (day.holds !== isToday) this.#mark(id, HELD)
    if (!isToday) return
    this.#mark(id, LISTED | MOVED_TODAY)
    this.#movedToday.push(id)
  }

  /** What changed since the last call, to be stored. */
  drain(): Changed {
    this.#list()
    const { addresses, balances } = this
    const moved = this.#moved.all()
    const holders = byAddress(
      addresses,
      moved.filter((id) => balances.isPositive(id)),
      (id) => id,
    )
    const negative = moved.find((id) => balances.isNegative(id))
    const changed = {
      holders: {
        count: holders.length,
        addresses: addresses.words(holders),
        balances: balances.words(holders),
      },
      ...this.#drainTurns(),
      emptied: this.#drainMoved(moved),
      negative: negative === undefined ? undefined : addresses.address(negative),
      holderDays: this.#holders,
      supply: this.#supply,
    }
    for (const id of holders) this.#mark(id, STORED)
    this.#moved = new NumberList()
    this.#holders = new Map()
    this.#supply = new Map()
    return changed
  }

  #drainTurns(): Pick<Changed, 'days' | 'unlisted'> {
    const { addresses } = this
    const turns = this.#turns.all()
    const listed = byAddress(addresses, turns.filter(isListed), idOfTurn)
    this.#turns = new NumberList()
    return {
      days: {
        count: listed.length,
        addresses: addresses.words(listed.map(idOfTurn)),
        unix: listed.map(dayOfTurn),
        holds: listed.map((turn) => (turn % 4 >= 2 ? 1 : 0)),
      },
      unlisted: Array.from(
        turns.filter((turn) => !isListed(turn)),
        (turn) => ({ address: addresses.address(idOfTurn(turn)), dayUnix: dayOfTurn(turn) }),
      ),
    }
  }

  /** Takes the marks of what moved away; gives the addresses that hold none and are stored. */
  #drainMoved(moved: Float64Array): readonly Address[] {
    const emptied: Address[] = []
    for (const id of moved) {
      if (!this.balances.isPositive(id) && this.#is(id, STORED))
        emptied.push(this.addresses.address(id))
      this.#unmark(id, MOVED | STORED)
    }
    return emptied
  }

  /** Lists the present day for addresses that hold otherwise than the day before, and only for them. */
  #list(): void {
    for (const id of this.#movedToday) {
      const holds = this.balances.isPositive(id)
      const turned = holds !== this.#is(id, HELD)
      if (turned === this.#is(id, LISTED)) continue
      this.#turns.push(packTurn({ id, dayUnix: this.#dayUnix, holds, listed: turned }))
      this.#countTurn(turned ? holds : !holds, turned ? 1 : -1)
      if (turned) this.#mark(id, LISTED)
      else this.#unmark(id, LISTED)
    }
  }

  /** Counts one who began or ceased to hold today, or takes that back. */
  #countTurn(began: boolean, by: 1 | -1): void {
    const { gained, lost } = this.#holders.get(this.#dayUnix) ?? { gained: 0, lost: 0 }
    const change = began ? { gained: gained + by, lost } : { gained, lost: lost + by }
    this.#holders.set(this.#dayUnix, change)
  }

  #touch(id: number): void {
    const marks = this.#marks[id] ?? 0
    if ((marks & (MOVED | IS_ZERO)) === 0) this.#moved.push(id)
    if ((marks & (MOVED_TODAY | SPECIAL)) === 0) this.#movedToday.push(id)
    this.#mark(id, (marks & SPECIAL) === 0 ? MOVED | MOVED_TODAY : MOVED)
  }

  #moveSupply(sender: number, receiver: number, value: bigint): void {
    let change = this.#supply.get(this.#dayUnix) ?? NO_SUPPLY
    if (this.#is(sender, IS_ZERO)) change = addSupply(change, { ...NO_SUPPLY, minted: value })
    if (this.#is(receiver, IS_ZERO)) change = addSupply(change, { ...NO_SUPPLY, burned: value })
    if (this.#is(receiver, LOCKED)) change = addSupply(change, { ...NO_SUPPLY, locked: value })
    if (this.#is(sender, LOCKED)) change = addSupply(change, { ...NO_SUPPLY, unlocked: value })
    this.#supply.set(this.#dayUnix, change)
  }

  #is(id: number, mark: number): boolean {
    return ((this.#marks[id] ?? 0) & mark) !== 0
  }

  #mark(id: number, marks: number): void {
    if (id >= this.#marks.length) {
      const more = new Uint8Array(Math.max(this.#marks.length * 2, id + 1))
      more.set(this.#marks)
      this.#marks = more
    }
    this.#marks[id] = (this.#marks[id] ?? 0) | marks
  }

  #unmark(id: number, marks: number): void {
    if (id < this.#marks.length) this.#marks[id] = (this.#marks[id] ?? 0) & ~marks
  }
}
