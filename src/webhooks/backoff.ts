const HOUR_MS = 3_600_000

/** Then hourly. */
const DELAYS_MS = [5_000, 30_000, 120_000, 600_000, 1_800_000]

/** Keeps webhooks that failed together from coming back together. */
const JITTER = 0.2

/** Until the next attempt, after so many failed ones. `random` is in [0, 1). */
export function backoffMs(input: {
  readonly attempts: number
  readonly retryAfterSeconds: number | undefined
  readonly random: number
}): number {
  const own = DELAYS_MS[input.attempts - 1] ?? HOUR_MS
  const asked = Math.min((input.retryAfterSeconds ?? 0) * 1_000, HOUR_MS)
  return Math.round(Math.max(own, asked) * (1 + JITTER * (input.random - 0.5)))
}
