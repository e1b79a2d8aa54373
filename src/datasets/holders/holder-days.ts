import { startOfDay } from '#lib/time.ts'
import type { Movement } from './movement.ts'

/** At the end of this UTC day an address began (or ceased) to hold on a chain. */
export interface HolderDay {
  readonly chainId: number
  readonly dayUnix: number
  readonly holds: boolean
}

/** Whether an address holds at the end of each day on which it moved, oldest first. */
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
 * The turning days of an address after one chain's days from `fromDay` on are replaced: a day is
 * listed only when it ends otherwise than the day before it on that chain.
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

/** A time that ended in which an address held: the UTC days at whose ends it began and ceased to. */
export interface HolderSpan {
  readonly fromUnix: number
  readonly untilUnix: number
}

/** What an address' turning days on a chain come to: the times that ended, and the one that goes on. */
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

/** The days on which a wallet became (+1) or ceased to be (-1) a holder on any chain. */
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

/** Two chains may turn on one day in opposite ways, which is no turn of the wallet. */
function turn(turns: Map<number, 1 | -1>, dayUnix: number, holds: boolean): void {
  if (turns.has(dayUnix)) turns.delete(dayUnix)
  else turns.set(dayUnix, holds ? 1 : -1)
}

function byDay(a: HolderDay, b: HolderDay): number {
  return a.dayUnix - b.dayUnix
}
