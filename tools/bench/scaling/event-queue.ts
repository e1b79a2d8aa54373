interface Event {
  readonly atMs: number
  readonly order: number
  readonly happen: (atMs: number) => void
}

/** A binary heap: the earliest first, and of the same moment the one that was added first. */
export class EventQueue {
  readonly #heap: Event[] = []
  #added = 0

  add(atMs: number, happen: (atMs: number) => void): void {
    this.#added += 1
    const event = { atMs, order: this.#added, happen }
    const heap = this.#heap
    let place = heap.length
    while (place > 0) {
      const above = (place - 1) >> 1
      const parent = heap[above]
      if (parent === undefined || isBefore(parent, event)) break
      heap[place] = parent
      place = above
    }
    heap[place] = event
  }

  /** Lets everything happen that is due before the end. */
  run(endMs: number): void {
    for (let next = this.#take(); next !== undefined && next.atMs < endMs; next = this.#take())
      next.happen(next.atMs)
  }

  #take(): Event | undefined {
    const heap = this.#heap
    const [first] = heap
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    let place = 0
    for (;;) {
      let below = 2 * place + 1
      const [left, right] = [heap[below], heap[below + 1]]
      if (left === undefined) break
      let least = left
      if (right !== undefined && isBefore(right, left)) {
        least = right
        below += 1
      }
      if (isBefore(last, least)) break
      heap[place] = least
      place = below
    }
    heap[place] = last
    return first
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order)
}
