/** Who calls: an address without a key, or a key. */
export interface RosterCaller {
  /** Its place in the roster. */
  readonly index: number
  /** What its calls are counted under, as the accounts name it. */
  readonly bucket: string
  /** Of a key; undefined for an address. */
  readonly publicId: string | undefined
}

/** Everybody who ever calls, by number; it grows with callers, never with calls. */
export class Roster {
  readonly callers: RosterCaller[] = []

  add(bucket: string, publicId?: string): RosterCaller {
    const caller = { index: this.callers.length, bucket, publicId }
    this.callers.push(caller)
    return caller
  }

  at(index: number): RosterCaller {
    const caller = this.callers[index]
    if (caller === undefined) throw new Error(`nobody has the number ${index}`)
    return caller
  }
}
