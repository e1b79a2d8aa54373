/** How busy a chain is, and how large its amounts are, against an ordinary day of history. */
export interface Pace {
  readonly rate: number
  readonly size: number
}

/** History: about a hundred transactions a day on base. */
export const historyPace: Pace = { rate: 1, size: 1 }

/** Live: a transaction every few seconds, so small that a live day weighs about two of history. */
export const livePace: Pace = { rate: 320, size: 1 / 160 }
