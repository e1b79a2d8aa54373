/** An event within the blocks that a change made final. */
export interface RangePlace {
  readonly blockNumber: number
  readonly place: number
  /** Among the events at the same place. */
  readonly nth: number
}

/** A reader's place: after the change with this sequence, or within it. */
export interface FeedCursor {
  readonly epoch: string
  readonly sequence: number
  /** Digest of the change, since sequences repeat after a lost commit; empty before the first change. */
  readonly hash: string
  readonly within?: RangePlace
}

/** No row of a log brings a thousand events; a made-up place must not make a page long. */
const CURSOR =
  /^([0-9a-f]{12})[.](\d{1,15})(?:[.]([0-9a-f]{8})(?:[.](\d{1,15})-(\d{1,16})-(\d{1,3}))?)?$/

export const CURSOR_PATTERN = CURSOR.source

export function showCursor({ epoch, sequence, hash, within }: FeedCursor): string {
  const place = within === undefined ? [] : [`${within.blockNumber}-${within.place}-${within.nth}`]
  return [epoch, sequence, ...(hash === '' ? [] : [hash]), ...place].join('.')
}

export function parseCursor(text: string): FeedCursor | undefined {
  const match = CURSOR.exec(text)
  if (match === null) return undefined
  const [, epoch = '', sequence, hash = '', blockNumber, place, nth] = match
  const cursor = { epoch, sequence: Number(sequence), hash }
  if (blockNumber === undefined) return cursor
  const within = { blockNumber: Number(blockNumber), place: Number(place), nth: Number(nth) }
  return { ...cursor, within }
}
