import { startOfDay } from '#lib/time.ts'
import type { Movement } from './movement.ts'

/** Whether an address holds at the end of a UTC day on a chain. */
export interface HolderDay {
  readonly chainId: number
  readonly dayUnix: number
  readonly holds: boolean
}

/** Returns each day with a movement, and whether anything is held at its end, oldest first. */
export function dayEnds(
  movement: Movement,
  balanceBefore: bigint,
): readonly { readonly dayUnix: number; readonly holds: boolean }[] {
  const ends = new Map<number, boolean>()
  let balance = balanceBefore
  for (const step of movement.steps) {
    balance += step.received - step.sent
    ends.set(startOfDay(step.timestamp), balance > 0n)
  }
  return [...ends].map(([dayUnix, holds]) => ({ dayUnix, holds }))
}

/**
 * Replaces one chain's days from `fromDay` on. A day is listed only if it ends differently from the
 * previous one.
 */
export function replaceDays(
  days: readonly HolderDay[],
  chainId: number,
  fromDay: number,
  ends: readonly { readonly dayUnix: number; readonly holds: boolean }[],
): readonly HolderDay[] {
  const kept = days.filter((day) => day.chainId !== chainId || day.dayUnix < fromDay)
  let holds =
    kept
      .filter((day) => day.chainId === chainId)
      .sort(byDay)
      .at(-1)?.holds ?? false
  const turned: HolderDay[] = []
  for (const end of ends) {
    if (end.holds !== holds) turned.push({ chainId, ...end })
    holds = end.holds
  }
  return [...kept, ...turned]
}

/** An ended period of holding. */
export interface HolderSpan {
  readonly fromUnix: number
  readonly untilUnix: number
}

/** Undefined `sinceUnix`: does not hold now. */
export function spansOf(
  days: readonly HolderDay[],
  chainId: number,
): { readonly ended: readonly HolderSpan[]; readonly sinceUnix: number | undefined } {
  const ended: HolderSpan[] = []
  let sinceUnix: number | undefined
  for (const { dayUnix, holds } of days.filter((day) => day.chainId === chainId).sort(byDay)) {
    if (!holds && sinceUnix !== undefined) ended.push({ fromUnix: sinceUnix, untilUnix: dayUnix })
    sinceUnix = holds ? dayUnix : undefined
  }
  return { ended, sinceUnix }
}

/** Across all chains: +1 began, -1 ceased. */
export function turningDays(days: readonly HolderDay[]): ReadonlyMap<number, 1 | -1> {
  const turns = new Map<number, 1 | -1>()
  const holding = new Set<number>()
  for (const day of [...days].sort(byDay)) {
    const before = holding.size > 0
    if (day.holds) holding.add(day.chainId)
    else holding.delete(day.chainId)
    if (before !== holding.size > 0) turn(turns, day.dayUnix, holding.size > 0)
  }
  return turns
}

/** Opposite changes on two chains cancel out. */
function turn(turns: Map<number, 1 | -1>, dayUnix: number, holds: boolean): void {
  if (turns.has(dayUnix)) turns.delete(dayUnix)
  else turns.set(dayUnix, holds ? 1 : -1)
}

function byDay(a: HolderDay, b: HolderDay): number {
  return a.dayUnix - b.dayUnix
}
