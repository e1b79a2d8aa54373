import type { MetaDeps } from '#api/meta-route.ts'
import { readMappingAnomalies } from '#chains/indexer/mappings.ts'
import type { Context } from '#context.ts'
import { sleep } from '#lib/sleep.ts'

type Findings = Awaited<ReturnType<MetaDeps['findings']>>

/** Findings change rarely. */
const FRESH_MS = 5_000

/** Longest wait of `/api/meta` for a store that is down. */
const WAIT_MS = 100

/** Keeps the last ones while the register is unavailable. */
export function makeRecentFindings({ register, ecosystem, clock }: Context): MetaDeps['findings'] {
  let known: Findings = { anomalies: [] }
  let readAtMs = Number.NEGATIVE_INFINITY
  return async () => {
    if (Math.abs(clock() - readAtMs) < FRESH_MS) return known
    readAtMs = clock()
    const reading = register
      .snapshot((reads) => readMappingAnomalies(reads, ecosystem))
      .then((anomalies) => {
        known = { anomalies }
      })
    await Promise.race([reading.catch(() => undefined), sleep(WAIT_MS)])
    return known
  }
}
