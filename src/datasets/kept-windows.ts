import {
  addUp,
  sumBroken,
  sumDays,
  sumWhole,
  sumWindows,
  type Window,
  type WindowSums,
  windowOf,
} from '#indexer/events/sum-windows.ts'
import { readSettled, type Settled, stillHolds } from '#indexer/settled.ts'
import type { IndexStatus } from '#indexer/status.ts'
import { DAY_SECONDS, startOfDay } from '#lib/day.ts'
import type { Connection } from '#store/engine.ts'

/** Of the totals: 24 hours, 7 and 30 days. */
export const TOTAL_WINDOWS = [DAY_SECONDS, 7 * DAY_SECONDS, 30 * DAY_SECONDS] as const

/** Sums of the windows as they were in one state of the register. */
interface Kept {
  readonly revision: string
  readonly sums: WindowSums
  /** What of them will stand, where something will. */
  readonly lasting: Lasting | undefined
}

interface Lasting {
  readonly settled: Settled
  readonly windows: readonly Window[]
  /** A midnight up to which all whole hours and days of the windows were settled. */
  readonly untilUnix: number
  readonly sums: WindowSums
}

/**
 * Sums of a dataset over windows that roll back from the newest block, such as the last 24 hours. While
 * the index stands they are read once; when it moves on, settled hours and days are not read again as
 * long as the windows begin in the same hours.
 */
export class KeptWindows {
  readonly #dataset: string
  readonly #seconds: readonly number[]
  #kept: Kept | undefined

  constructor(dataset: string, seconds: readonly number[]) {
    this.#dataset = dataset
    this.#seconds = seconds
  }

  /** Per token and chain, for each length in its order. */
  async sums(connection: Connection, status: IndexStatus): Promise<WindowSums> {
    const known = this.#kept
    if (known?.revision === status.revision) return known.sums
    const kept = await this.#read(connection, status, known?.lasting)
    this.#kept = kept
    return kept.sums
  }

  async #read(
    connection: Connection,
    status: IndexStatus,
    known: Lasting | undefined,
  ): Promise<Kept> {
    const settled = await readSettled(connection, status)
    const { asOfUnix, revision } = status
    const untilUnix = startOfDay(settled.untilUnix)
    const asked = {
      dataset: this.#dataset,
      windows: this.#seconds.map((seconds) => windowOf(asOfUnix, seconds)),
    }
    if (asked.windows.some(({ firstDay }) => firstDay > untilUnix))
      return { revision, sums: await sumWindows(connection, asked), lasting: undefined }
    const now = { settled, untilUnix, windows: asked.windows }
    const whole =
      known !== undefined && isStill(known, now)
        ? known.sums
        : await sumWhole(connection, { ...asked, untilUnix })
    const newer = await sumDays(connection, { dataset: this.#dataset, fromUnix: untilUnix })
    const broken = await sumBroken(connection, asked)
    const sums = whole.map((each, place) => addUp([...each, ...newer, ...(broken[place] ?? [])]))
    return { revision, sums, lasting: { ...now, sums: whole } }
  }
}

function isStill(known: Lasting, now: Omit<Lasting, 'sums'>): boolean {
  const begins = ({ windows }: Pick<Lasting, 'windows'>) =>
    windows.map(({ firstHour }) => firstHour).join()
  return (
    known.untilUnix === now.untilUnix &&
    begins(known) === begins(now) &&
    stillHolds(known.settled, now.settled)
  )
}
