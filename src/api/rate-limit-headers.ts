import type { UsageFigures } from '#domain/caller.ts'
import { DAY_SECONDS } from '#lib/day.ts'

/**
 * Adds the four headers of the contract, the date and the IETF pair (draft-ietf-httpapi-ratelimit-headers,
 * policy `daily`). `Vary`, because figures differ by caller, and some bodies by media type or coding.
 */
export function stampFigures(headers: string[], figures: UsageFigures, nowMs: number): void {
  const { dailyQuota, remaining, resetUnix, tier } = figures
  // Figures hold until the reset: an answer that leaves later is dated before it.
  const dateUnix = Math.min(Math.floor(nowMs / 1000), resetUnix - 1)
  headers.push(
    'X-RateLimit-Limit',
    String(dailyQuota),
    'X-RateLimit-Remaining',
    String(remaining),
    'X-RateLimit-Reset',
    String(resetUnix),
    'X-RateLimit-Tier',
    tier,
    'RateLimit-Policy',
    `"daily";q=${dailyQuota};w=${DAY_SECONDS}`,
    'RateLimit',
    `"daily";r=${remaining};t=${resetUnix - dateUnix}`,
    'Vary',
    'Authorization, Accept, Accept-Encoding',
    'Date',
    httpDate(dateUnix),
  )
}

let newest = { unix: 0, text: '' }

/** Made once a second (RFC 9110, 5.6.7). */
function httpDate(unix: number): string {
  if (newest.unix !== unix) newest = { unix, text: new Date(unix * 1000).toUTCString() }
  return newest.text
}
