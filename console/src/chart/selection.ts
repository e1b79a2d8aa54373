import { createContext } from 'preact'

/** The day that every chart shows, or none, counted from the first one. */
export interface Selection {
  readonly day: number | undefined
  select(day: number | undefined): void
  /** Moves the period by days, earlier below zero. */
  pan(days: number): void
}

/** Of a chart that stands alone. */
export const NO_SELECTION: Selection = {
  day: undefined,
  select: () => undefined,
  pan: () => undefined,
}

export const SelectionContext = createContext(NO_SELECTION)
