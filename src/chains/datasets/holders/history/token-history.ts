import { HASH_DIGITS, type LogColumns, PLACE } from '#chains/chain/columns/log-columns.ts'
import { type Address, ZERO_ADDRESS } from '#domain/address.ts'
import { free } from '#lib/free.ts'
import { DAY_SECONDS, startOfDay, startOfHour } from '#lib/time.ts'
import type { SupplyChange } from '../fold-supply.ts'
import { AddressTable } from './address-table.ts'
import { BalanceColumns } from './balance-columns.ts'
import { byAddress } from './by-address.ts'
import { HeldRows, NO_DAY } from './held-rows.ts'
import { HourList, type OpenedHours } from './hour-list.ts'
import { NumberList } from './number-list.ts'
import { type EndedSpans, SpanList } from './span-list.ts'

const LOCKED = 1
const IS_ZERO = 2
const MOVED_TODAY = 4
const MOVED = 8
const HELD = 16
/** The current day is stored as a turning day. */
const LISTED = 32
/** Has a stored balance. */
const STORED = 64
const MOVED_THIS_HOUR = 128

const SPECIAL = LOCKED | IS_ZERO

const MINTED = 0
const BURNED = 1
const LOCKED_UP = 2
const UNLOCKED = 3

/** Hex digits before the address. */
const TOPIC_PADDING = 24

/** A snapshot of the changes since the last drain; later transfers do not affect it. */
export interface Changed {
  /** Addresses that moved and have a balance. */
  readonly holders: HeldRows
  /** Addresses that moved to zero and are still stored. */
  readonly emptied: readonly Address[]
  readonly hours: OpenedHours
  readonly ended: EndedSpans
  readonly resumed: readonly { readonly address: Address; readonly fromUnix: number }[]
  /** Keyed by UTC day, for this chain. */
  readonly holderDays: ReadonlyMap<number, HolderCounts>
  readonly supply: ReadonlyMap<number, SupplyChange>
}

export interface HolderCounts {
  readonly gained: number
  readonly lost: number
}

/** Balances of one token on one chain during a backfill, oldest transfer first. */
export class TokenHistory {
  readonly symbol: string
  readonly addresses = new AddressTable()
  readonly balances = new BalanceColumns()
  #marks = new Uint8Array(1_024)
  #dayUnix = 0
  #movedToday: number[] = []
  #moved = new NumberList()
  /** Days since 1970; valid while holding and on the last day. */
  #since = new Uint16Array(1_024)
  /** The UTC day of the last transfer of more than zero. */
  #last = new Uint32Array(1_024)
  readonly #hoursFromUnix: number
  #hourUnix = 0
  #movedThisHour: number[] = []
  #hours = new HourList()
  #spans = new SpanList()
  #holders = new Map<number, HolderCounts>()
  #supply = new Map<number, SupplyChange>()
  /** Sums changes of the day, because a busy pool would otherwise allocate per transfer. */
  readonly #supplyToday = new BalanceColumns(4)

  constructor(
    symbol: string,
    {
      locked,
      hoursFromUnix,
    }: { readonly locked: ReadonlySet<Address>; readonly hoursFromUnix: number },
  ) {
    this.symbol = symbol
    this.#hoursFromUnix = hoursFromUnix
    this.#mark(this.addresses.internAddress(ZERO_ADDRESS), IS_ZERO)
    for (const address of locked) {
      const id = this.addresses.internAddress(address)
      if (!this.#is(id, IS_ZERO)) this.#mark(id, LOCKED)
    }
  }

  take(columns: LogColumns, index: number, timeUnix: number): boolean {
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
    if (!this.balances.hasReadZero()) {
      this.#moveAt(sender, timeUnix)
      this.#moveAt(receiver, timeUnix)
    }
    if (!this.#is(sender, IS_ZERO)) this.balances.subtract(sender)
    if (!this.#is(receiver, IS_ZERO)) this.balances.add(receiver)
    this.#touch(sender)
    this.#touch(receiver)
    if (((this.#marks[sender] ?? 0) | (this.#marks[receiver] ?? 0)) & SPECIAL)
      this.#moveSupply(sender, receiver)
    return true
  }

  /** Later transfers must not be older than this day. */
  beginDay(dayUnix: number): void {
    this.#endSupplyDay()
    this.#list()
    for (const id of this.#movedToday) {
      this.#unmark(id, MOVED_TODAY | LISTED | HELD)
      if (this.balances.isPositive(id)) this.#mark(id, HELD)
    }
    this.#movedToday = []
    this.#dayUnix = dayUnix
  }

  /** `sinceUnix` is null for non-holders. */
  restoreHolder(
    address: Address,
    {
      balance,
      sinceUnix,
      lastUnix,
    }: {
      readonly balance: bigint
      readonly sinceUnix: number | null
      readonly lastUnix: number
    },
  ): void {
    const id = this.addresses.internAddress(address)
    this.balances.set(id, balance)
    this.#keepLast(id, lastUnix)
    this.#mark(id, STORED)
    if (sinceUnix === null) return
    this.#holdSince(id, sinceUnix)
    if (sinceUnix === this.#dayUnix) this.#restoreTurn(id)
    else this.#mark(id, HELD)
  }

  /** Restores a span that ended on the current day. */
  restoreEnded(address: Address, fromUnix: number): void {
    const id = this.addresses.internAddress(address)
    this.#holdSince(id, fromUnix)
    this.#mark(id, HELD)
    this.#restoreTurn(id)
  }

  drain(): Changed {
    this.#endSupplyDay()
    this.#list()
    const { addresses, balances } = this
    const moved = this.#moved.all()
    const held = moved.filter((id) => !balances.isZero(id))
    const holders = byAddress(addresses, held, (id) => id)
    free(held)
    const changed = {
      holders: new HeldRows(addresses, holders, {
        balances,
        dayOf: (id) =>
          this.#is(id, SPECIAL) || balances.isNegative(id) ? NO_DAY : (this.#since[id] ?? 0),
        lastOf: (id) => this.#last[id] ?? 0,
      }),
      hours: this.#hours.take(addresses),
      ...this.#spans.take(addresses),
      emptied: this.#drainMoved(moved),
      holderDays: this.#holders,
      supply: this.#supply,
    }
    for (const id of holders) this.#mark(id, STORED)
    free(holders)
    free(moved)
    this.#moved = new NumberList()
    this.#hours = new HourList()
    this.#spans = new SpanList()
    this.#holders = new Map()
    this.#supply = new Map()
    return changed
  }

  /** Returns stored addresses that are now empty. */
  #drainMoved(moved: Float64Array): readonly Address[] {
    const emptied: Address[] = []
    for (const id of moved) {
      if (this.balances.isZero(id) && this.#is(id, STORED)) emptied.push(this.addresses.address(id))
      this.#unmark(id, MOVED | STORED)
    }
    return emptied
  }

  /** Lists the day for addresses whose holding differs from the day before. */
  #list(): void {
    for (const id of this.#movedToday) {
      const holds = this.balances.isPositive(id)
      const turned = holds !== this.#is(id, HELD)
      if (turned === this.#is(id, LISTED)) continue
      if (this.#is(id, HELD))
        this.#spans.push(id, {
          fromUnix: this.#heldSince(id),
          untilUnix: this.#dayUnix,
          isEnded: turned,
        })
      else if (turned) this.#holdSince(id, this.#dayUnix)
      this.#countTurn(turned ? holds : !holds, turned ? 1 : -1)
      if (turned) this.#mark(id, LISTED)
      else this.#unmark(id, LISTED)
    }
  }

  #restoreTurn(id: number): void {
    this.#mark(id, LISTED | MOVED_TODAY)
    this.#movedToday.push(id)
  }

  #heldSince(id: number): number {
    return (this.#since[id] ?? 0) * DAY_SECONDS
  }

  #holdSince(id: number, dayUnix: number): void {
    if (id >= this.#since.length) {
      const more = new Uint16Array(Math.max(this.#since.length * 2, id + 1))
      more.set(this.#since)
      this.#since = more
    }
    this.#since[id] = dayUnix / DAY_SECONDS
  }

  /** Call before the balance moves. */
  #moveAt(id: number, timeUnix: number): void {
    this.#keepLast(id, startOfDay(timeUnix))
    if (timeUnix < this.#hoursFromUnix) return
    const hourUnix = startOfHour(timeUnix)
    if (hourUnix !== this.#hourUnix) this.#beginHour(hourUnix)
    if (this.#is(id, MOVED_THIS_HOUR | IS_ZERO)) return
    this.#mark(id, MOVED_THIS_HOUR)
    this.#movedThisHour.push(id)
    this.#hours.push(id, hourUnix, this.balances)
  }

  #beginHour(hourUnix: number): void {
    for (const id of this.#movedThisHour) this.#unmark(id, MOVED_THIS_HOUR)
    this.#movedThisHour = []
    this.#hourUnix = hourUnix
  }

  #keepLast(id: number, timeUnix: number): void {
    if (id >= this.#last.length) {
      const more = new Uint32Array(Math.max(this.#last.length * 2, id + 1))
      more.set(this.#last)
      this.#last = more
    }
    this.#last[id] = timeUnix
  }

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

  #moveSupply(sender: number, receiver: number): void {
    const add = (place: number) => this.#supplyToday.addReadBy(this.balances, place)
    const [isMint, isBurn] = [this.#is(sender, IS_ZERO), this.#is(receiver, IS_ZERO)]
    if (isMint) add(MINTED)
    // What the zero address sends to itself stays in the supply and never circulates.
    if (isBurn) add(isMint ? LOCKED_UP : BURNED)
    if (this.#is(receiver, LOCKED)) add(LOCKED_UP)
    if (this.#is(sender, LOCKED)) add(UNLOCKED)
  }

  #endSupplyDay(): void {
    const today = this.#supplyToday
    const [minted, burned] = [today.get(MINTED), today.get(BURNED)]
    const [locked, unlocked] = [today.get(LOCKED_UP), today.get(UNLOCKED)]
    if ((minted | burned | locked | unlocked) === 0n) return
    this.#supply.set(this.#dayUnix, { minted, burned, locked, unlocked })
    for (const place of [MINTED, BURNED, LOCKED_UP, UNLOCKED]) today.set(place, 0n)
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
