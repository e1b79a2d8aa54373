/** Gives the present time in Unix milliseconds. Arrives as a dependency, so that a test can move it. */
export type Clock = () => number

export const systemClock: Clock = () => Date.now()

/** Whole Unix seconds of a clock. */
export function unixNow(clock: Clock): number {
  return Math.floor(clock() / 1000)
}
