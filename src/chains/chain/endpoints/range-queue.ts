import type { HistoryPart } from '../chain-source.ts'
import type { Endpoint } from './endpoint.ts'

export interface QueuedRange {
  readonly from: number
  readonly to: number
  state: 'waiting' | 'asked' | 'answered'
  tries: number
  readonly avoid: ReadonlySet<Endpoint>
  bytes: number
  part: HistoryPart | undefined
}

export class RangeQueue {
  readonly #to: number
  #next: number
  #pieces: QueuedRange[] = []

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

  get answeredBytes(): number {
    return this.#pieces.reduce((sum, piece) => sum + piece.bytes, 0)
  }

  get isFirstWaiting(): boolean {
    const [first] = this.#pieces
    return first === undefined || first.state === 'waiting'
  }

  peek(): Pick<QueuedRange, 'from' | 'to' | 'avoid'> | undefined {
    const waiting = this.#pieces.find((piece) => piece.state === 'waiting')
    if (waiting !== undefined) return waiting
    if (this.#next > this.#to) return undefined
    return { from: this.#next, to: this.#to, avoid: new Set() }
  }

  take(blocks: number): QueuedRange | undefined {
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

  putBack(piece: QueuedRange, failed?: Endpoint): void {
    const again = failed === undefined ? piece : withAvoided(piece, failed)
    this.#replace(piece, [{ ...again, state: 'waiting', tries: piece.tries + 1 }])
  }

  halve(piece: QueuedRange, failed?: Endpoint): void {
    const again = failed === undefined ? piece : withAvoided(piece, failed)
    const middle = piece.from + Math.ceil((piece.to - piece.from + 1) / 2)
    this.#replace(piece, [cut(again, piece.from, middle - 1), cut(again, middle, piece.to)])
  }

  answer(piece: QueuedRange, part: HistoryPart): void {
    piece.state = 'answered'
    piece.part = part
    piece.bytes = part.columns.body.byteLength
  }

  handOut(): HistoryPart | undefined {
    const part = this.#pieces[0]?.part
    if (part !== undefined) this.#pieces.shift()
    return part
  }

  #takeNew(blocks: number): QueuedRange | undefined {
    const from = this.#next
    if (from > this.#to) return undefined
    const to = Math.min(this.#to, from + blocks - 1)
    const piece: QueuedRange = {
      from,
      to,
      state: 'asked',
      tries: 0,
      bytes: 0,
      part: undefined,
      avoid: new Set(),
    }
    this.#next = to + 1
    this.#pieces.push(piece)
    return piece
  }

  #replace(piece: QueuedRange, pieces: readonly QueuedRange[]): void {
    const place = this.#pieces.indexOf(piece)
    if (place >= 0) this.#pieces.splice(place, 1, ...pieces)
  }
}

function cut(piece: QueuedRange, from: number, to: number): QueuedRange {
  return {
    ...piece,
    from,
    to,
    state: 'waiting',
    tries: 0,
    bytes: 0,
    part: undefined,
  }
}

function withAvoided(piece: QueuedRange, failed: Endpoint): QueuedRange {
  return { ...piece, avoid: new Set([...piece.avoid, failed]) }
}
