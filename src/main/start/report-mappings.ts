import type { Logger } from 'pino'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { readMappingAnomalies } from '#chains/indexer/mappings.ts'
import type { Engine } from '#store/engine.ts'

interface ReportDeps {
  readonly ecosystem: Ecosystem
  readonly register: Engine
  readonly logger: Pick<Logger, 'warn'>
}

/** Warns about logs that could not be decoded: again whenever there are more. */
export function createAnomalyReport(deps: ReportDeps): () => Promise<void> {
  const reported = new Map<string, number>()
  return async () => {
    const found = await deps.register.snapshot((reads) =>
      readMappingAnomalies(reads, deps.ecosystem),
    )
    for (const anomalies of found) {
      if (anomalies.kind === 'unlisted') continue
      const name = `${anomalies.chain} ${anomalies.mapping} ${anomalies.reason}`
      if ((reported.get(name) ?? 0) >= anomalies.logs) continue
      reported.set(name, anomalies.logs)
      deps.logger.warn(anomalies, 'could not decode logs of a mapping')
    }
  }
}
