import type { Caller } from '#domain/caller.ts'
import type { Clock } from '#lib/clock.ts'

interface Kept {
  readonly header: string
  readonly caller: Caller
  readonly untilMs: number
}

/**
 * Callers of this very moment by their Authorization header, so that who calls often is not hashed
 * and looked up for every call. All are dropped together, a quarter of a second after the first was
 * kept: secrets do not pile up in memory, and what is known of a key grows older by no more than that.
 */
export class RecentCallers {
  readonly #clock: Clock
  /**
   * By a number made of the header: a map of texts would look every header up among all names that the
   * engine knows, which is dearer. Of two with the same number one is looked up each time.
   */
  readonly #callers = new Map<number, Kept>()
  #begunMs = Number.NEGATIVE_INFINITY
  #epoch = 0

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock
  }

  /** Changes with `forget`: what was looked up before is not kept after it. */
  get epoch(): number {
    return this.#epoch
  }

  get(header: string): Caller | undefined {
    const now = this.#clock()
    // A clock that was set back must not prolong what is held.
    if (now < this.#begunMs || now >= this.#begunMs + HELD_MS) {
      this.#callers.clear()
      this.#begunMs = now
    }
    const kept = this.#callers.get(numberOf(header))
    if (kept === undefined || kept.header !== header || now >= kept.untilMs) return undefined
    return kept.caller
  }

  /** `untilMs` bounds what took long to look up; `epoch` is of before the look-up. */
  keep(
    header: string,
    caller: Caller,
    { epoch, untilMs }: { readonly epoch: number; readonly untilMs: number },
  ): void {
    if (epoch === this.#epoch && this.#callers.size < HELD_MAX)
      this.#callers.set(numberOf(header), { header, caller, untilMs })
  }

  forget(): void {
    this.#epoch += 1
    this.#callers.clear()
  }
}

/** The end of a header is the end of a secret, which is random. */
const TELLING_CHARACTERS = 12

function numberOf(header: string): number {
  let number = header.length
  for (let at = Math.max(0, number - TELLING_CHARACTERS); at < header.length; at += 1)
    number = (Math.imul(number, 31) + header.charCodeAt(at)) | 0
  return number
}

/** Together with what keys and tiers are remembered for, less than the second that is promised. */
export const HELD_MS = 250

/** Callers within such a time; more of them are looked up. */
const HELD_MAX = 10_000
