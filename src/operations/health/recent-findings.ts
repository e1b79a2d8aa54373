import type { MetaDeps } from '#api/meta-route.ts'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { readMappingAnomalies } from '#chains/indexer/mappings.ts'
import { sleep } from '#lib/sleep.ts'
import type { Clock } from '#lib/time.ts'
import type { Connection, Engine } from '#store/engine.ts'

type Findings = Awaited<ReturnType<MetaDeps['findings']>>

/** Findings change rarely. */
const FRESH_MS = 5_000

/** Longest wait of `/api/meta` for a store that is down. */
const WAIT_MS = 100

/** Keeps the last ones while the register is unavailable. */
export function makeRecentFindings(deps: {
  readonly register: Engine
  readonly ecosystem: Ecosystem
  readonly clock: Clock
}): MetaDeps['findings'] {
  let known: Findings = { anomalies: [] }
  let readAtMs = Number.NEGATIVE_INFINITY
  return async () => {
    if (Math.abs(deps.clock() - readAtMs) < FRESH_MS) return known
    readAtMs = deps.clock()
    const reading = deps.register
      .snapshot((reads) => readFindings(reads, deps.ecosystem))
      .then((found) => {
        known = found
      })
    await Promise.race([reading.catch(() => undefined), sleep(WAIT_MS)])
    return known
  }
}

async function readFindings(connection: Connection, ecosystem: Ecosystem): Promise<Findings> {
  return { anomalies: await readMappingAnomalies(connection, ecosystem) }
}
