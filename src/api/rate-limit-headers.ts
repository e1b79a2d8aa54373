import type { UsageFigures } from '#domain/caller.ts'
import { DAY_SECONDS } from '#lib/day.ts'

/**
 * Adds the four headers of the contract and the IETF pair (draft-ietf-httpapi-ratelimit-headers,
 * policy `daily`). They differ by caller, so that caches must keep answers apart by
 * key, and by the media type where a route offers two.
 */
export function stampFigures(headers: string[], figures: UsageFigures, nowMs: number): void {
  const { dailyQuota, remaining, resetUnix, tier } = figures
  const seconds = Math.max(0, resetUnix - Math.floor(nowMs / 1000))
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
    `"daily";r=${remaining};t=${seconds}`,
    'Vary',
    'Authorization, Accept',
  )
}
