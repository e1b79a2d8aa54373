import { createContext } from 'preact'
import type { Days } from '../state/types.ts'

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

/** What a chart draws. */
export interface Steps {
  readonly values: Days
  readonly perDay: number
}

/** Of the last day, hours to come cannot be selected. */
export function lastStep({ values, perDay }: Steps): number {
  return Math.max(
    values.findLastIndex((value) => value !== null),
    values.length - perDay,
  )
}

/** Which of its values a chart shows at a moment. */
export function stepAt(at: number, steps: Steps): number {
  return Math.min(lastStep(steps), Math.max(0, Math.floor(at * steps.perDay)))
}
