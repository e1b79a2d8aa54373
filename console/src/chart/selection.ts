import { createContext } from 'preact'

/** The moment that every chart shows, or none: days since the first one, with the part of a day that was pointed at. */
export interface Selection {
  readonly at: number | undefined
  select(at: number | undefined): void
  /** Moves the period by days, earlier below zero. */
  pan(days: number): void
}

/** Of a chart that stands alone. */
export const NO_SELECTION: Selection = {
  at: undefined,
  select: () => undefined,
  pan: () => undefined,
}

export const SelectionContext = createContext(NO_SELECTION)
