import type { Address } from '#domain/address.ts'
import { DAY_SECONDS } from '#lib/time.ts'
import type { HolderSpan } from '../holder-days.ts'
import type { AddressTable } from './address-table.ts'
import { byAddress } from './by-address.ts'
import { NumberList } from './number-list.ts'

export interface EndedSpans {
  readonly count: number
  /** `ADDRESS_WORDS` each. */
  readonly addresses: Uint32Array<ArrayBuffer>
  /** First and last UTC day. */
  readonly from: Float64Array<ArrayBuffer>
  readonly until: Float64Array<ArrayBuffer>
}

/** Days since 1970, until 2149. */
const DAYS_MAX = 1 << 16

/** Spans that ended or were reopened, 16 bytes each. */
export class SpanList {
  readonly #ids = new NumberList()
  /** First and last day and `isEnded`, packed. */
  readonly #spans = new NumberList()

  /** `isEnded` false reopens a span. */
  push(id: number, span: HolderSpan & { readonly isEnded: boolean }): void {
    const days = (span.fromUnix * DAYS_MAX + span.untilUnix) / DAY_SECONDS
    this.#ids.push(id)
    this.#spans.push(days * 2 + Number(span.isEnded))
  }

  take(addresses: AddressTable): {
    readonly ended: EndedSpans
    readonly resumed: readonly { readonly address: Address; readonly fromUnix: number }[]
  } {
    const ids = this.#ids.all()
    const spans = this.#spans.all()
    const idOf = (place: number) => ids[place] ?? 0
    const fromOf = (place: number) => Math.floor((spans[place] ?? 0) / 2 / DAYS_MAX) * DAY_SECONDS
    const untilOf = (place: number) =>
      (Math.floor((spans[place] ?? 0) / 2) % DAYS_MAX) * DAY_SECONDS
    const isEnded = (place: number) => (spans[place] ?? 0) % 2 === 1
    const places = spans.map((_, place) => place)
    const ended = byAddress(addresses, places.filter(isEnded), idOf)
    return {
      ended: {
        count: ended.length,
        addresses: addresses.words(ended.map(idOf)),
        from: ended.map(fromOf),
        until: ended.map(untilOf),
      },
      resumed: Array.from(
        places.filter((place) => !isEnded(place)),
        (place) => ({ address: addresses.address(idOf(place)), fromUnix: fromOf(place) }),
      ),
    }
  }
}
