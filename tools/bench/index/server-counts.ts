/** What was asked of a chain server since the last reset. */
export interface ServerCounts {
  readonly calls: Record<string, number>
  httpRequests: number
  /** Those of `httpRequests` that asked for receipts, to prove the blocks of payments. */
  proofRequests: number
  /** Bytes of bodies sent, compressed where they were. */
  bytes: number
  /** Answers that told a caller to ask for less. */
  refusals: number
  /** Answers with status 429. */
  rateLimited: number
  /** Most HTTP requests that were under way at once. */
  inFlightMax: number
}

export function emptyCounts(): ServerCounts {
  return {
    calls: {},
    httpRequests: 0,
    proofRequests: 0,
    bytes: 0,
    refusals: 0,
    rateLimited: 0,
    inFlightMax: 0,
  }
}

/** Sets every count to nothing, in place. */
export function resetCounts(counts: ServerCounts): ServerCounts {
  for (const method of Object.keys(counts.calls)) delete counts.calls[method]
  const { calls: _calls, ...zeros } = emptyCounts()
  return Object.assign(counts, zeros)
}
