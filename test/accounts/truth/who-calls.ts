import type { Chance } from '#test/chance.ts'
import type { OwnedKey, Owner } from '../world/owner.ts'
import { Roster } from './roster.ts'

/** Somebody who can call now. */
export interface Calling {
  readonly caller: number
  /** The headers that say who calls, each with its line end. */
  readonly headers: string
}

/** Addresses and keys that call, and the roster of all who ever did. */
export class WhoCalls {
  readonly roster = new Roster()
  readonly addresses: readonly Calling[]
  readonly #keys: (Calling & { readonly key: OwnedKey; readonly owner: Owner })[] = []

  constructor(addresses: number) {
    this.addresses = Array.from({ length: addresses }, (_, index) => this.#address(index))
  }

  /** Keys that are not revoked. */
  get keys(): readonly (Calling & { readonly key: OwnedKey; readonly owner: Owner })[] {
    return this.#keys
  }

  addKey(owner: Owner, key: OwnedKey): number {
    const bucket = `wallet:${owner.account.address.toLowerCase()}`
    const { index } = this.roster.add(bucket, key.publicId)
    this.#keys.push({
      caller: index,
      headers: `Authorization: Bearer ${key.secret}\r\n`,
      key,
      owner,
    })
    return index
  }

  /** Calls with it may go on for a moment: those that were begun. */
  dropKey(caller: number): void {
    const at = this.#keys.findIndex((each) => each.caller === caller)
    if (at !== -1) this.#keys.splice(at, 1)
  }

  /** Few of the many call most, so that calls of one bucket meet. */
  pick(chance: Chance): Calling {
    const list = chance.happens(KEYED) && this.#keys.length > 0 ? this.#keys : this.addresses
    const place = Math.floor(chance.next() ** 2 * list.length)
    const found = list[place]
    if (found === undefined) throw new Error('nobody calls')
    return found
  }

  /** Every other address is an IPv6 network, of which any interface may call. */
  #address(index: number): Calling {
    const [high, low] = [1 + (index >> 8), 1 + (index & 0xff)]
    const isNetwork = index % 2 === 1
    const network = `2001:db8:${high.toString(16)}:${low.toString(16)}`
    const bucket = isNetwork ? `${network}::/64` : `10.${high}.${low}.7`
    const address = isNetwork ? `${network}::${low.toString(16)}` : bucket
    const { index: caller } = this.roster.add(bucket)
    return { caller, headers: `X-Forwarded-For: 203.0.113.9, ${address}\r\n` }
  }
}

/** So many of all calls carry a key. */
const KEYED = 0.6
