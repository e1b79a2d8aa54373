import type { HistoryPart } from '../chain-source.ts'
import type { Endpoint } from './endpoint.ts'

/** A stretch of blocks in the line, asked for with one request. */
export interface Piece<T> {
  readonly from: number
  readonly to: number
  state: 'waiting' | 'asked' | 'answered'
  /** How often it came to nothing without becoming smaller. */
  tries: number
  /** Who failed at it. */
  readonly avoid: ReadonlySet<Endpoint>
  bytes: number
  part: HistoryPart<T> | undefined
  /** What the part was read from; it may be written over once the part is done with. */
  body: Uint8Array | undefined
}

/** A history cut into pieces, in block order, from the first that is not yet handed out. */
export class HistoryLine<T> {
  readonly #to: number
  #next: number
  #pieces: Piece<T>[] = []

  constructor(from: number, to: number) {
    this.#next = from
    this.#to = to
  }

  get isEmpty(): boolean {
    return this.#pieces.length === 0 && this.#next > this.#to
  }

  get asked(): number {
    return this.#pieces.filter((piece) => piece.state === 'asked').length
  }

  get answered(): number {
    return this.#pieces.filter((piece) => piece.state === 'answered').length
  }

  /** Of the answers that wait to be handed out. */
  get answeredBytes(): number {
    return this.#pieces.reduce((sum, piece) => sum + piece.bytes, 0)
  }

  /** Whether what is to be handed out next has not even been asked for. */
  get isFirstWaiting(): boolean {
    const [first] = this.#pieces
    return first === undefined || first.state === 'waiting'
  }

  /** The first piece that is to be asked for, uncut; undefined when there is none. */
  peek(): Pick<Piece<T>, 'from' | 'to' | 'avoid'> | undefined {
    const waiting = this.#pieces.find((piece) => piece.state === 'waiting')
    if (waiting !== undefined) return waiting
    if (this.#next > this.#to) return undefined
    return { from: this.#next, to: this.#to, avoid: new Set() }
  }

  /** Takes that piece, cut down to so many blocks. */
  take(blocks: number): Piece<T> | undefined {
    const place = this.#pieces.findIndex((piece) => piece.state === 'waiting')
    const waiting = this.#pieces[place]
    if (waiting === undefined) return this.#takeNew(blocks)
    const end = waiting.from + blocks - 1
    if (end >= waiting.to) {
      waiting.state = 'asked'
      return waiting
    }
    const first = cut(waiting, waiting.from, end)
    first.state = 'asked'
    this.#pieces.splice(place, 1, first, cut(waiting, end + 1, waiting.to))
    return first
  }

  /** Puts a piece back to be asked for again, elsewhere where there is a choice. */
  putBack(piece: Piece<T>, failed?: Endpoint): void {
    const again = failed === undefined ? piece : withAvoided(piece, failed)
    this.#replace(piece, [{ ...again, state: 'waiting', tries: piece.tries + 1 }])
  }

  /** Puts it back in two halves. */
  halve(piece: Piece<T>, failed?: Endpoint): void {
    const again = failed === undefined ? piece : withAvoided(piece, failed)
    const middle = piece.from + Math.ceil((piece.to - piece.from + 1) / 2)
    this.#replace(piece, [cut(again, piece.from, middle - 1), cut(again, middle, piece.to)])
  }

  answer(piece: Piece<T>, part: HistoryPart<T>, body: Uint8Array): void {
    piece.state = 'answered'
    piece.part = part
    piece.body = body
    piece.bytes = body.byteLength
  }

  /** The next part in block order, once it is there. */
  handOut(): Pick<Piece<T>, 'part' | 'body'> | undefined {
    if (this.#pieces[0]?.part === undefined) return undefined
    return this.#pieces.shift()
  }

  #takeNew(blocks: number): Piece<T> | undefined {
    const from = this.#next
    if (from > this.#to) return undefined
    const to = Math.min(this.#to, from + blocks - 1)
    const piece: Piece<T> = {
      ...{ from, to, state: 'asked', tries: 0, bytes: 0, part: undefined, body: undefined },
      avoid: new Set(),
    }
    this.#next = to + 1
    this.#pieces.push(piece)
    return piece
  }

  #replace(piece: Piece<T>, pieces: readonly Piece<T>[]): void {
    const place = this.#pieces.indexOf(piece)
    if (place >= 0) this.#pieces.splice(place, 1, ...pieces)
  }
}

function cut<T>(piece: Piece<T>, from: number, to: number): Piece<T> {
  return {
    ...piece,
    from,
    to,
    state: 'waiting',
    tries: 0,
    bytes: 0,
    part: undefined,
    body: undefined,
  }
}

function withAvoided<T>(piece: Piece<T>, failed: Endpoint): Piece<T> {
  return { ...piece, avoid: new Set([...piece.avoid, failed]) }
}
