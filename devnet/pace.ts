/** Relative to an ordinary day of history. */
export interface Pace {
  readonly rate: number
  readonly size: number
}

/** About a hundred transactions a day on base. */
export const historyPace: Pace = { rate: 1, size: 1 }

/** A transaction every few seconds, so small that a live day weighs about two of history. */
export const livePace: Pace = { rate: 320, size: 1 / 160 }
