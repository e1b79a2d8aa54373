export const RETRY_AFTER_MAX_MS = 60_000

export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  const ms = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs
  if (Number.isNaN(ms)) return undefined
  return Math.min(RETRY_AFTER_MAX_MS, Math.max(0, ms))
}
