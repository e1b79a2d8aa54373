import { readMappingAnomalies } from '#chains/indexer/mappings.ts'
import type { Context } from '#context.ts'

/** Warns about logs that could not be decoded: again whenever there are more. */
export function createAnomalyReport(
  ctx: Pick<Context, 'ecosystem' | 'register' | 'logger'>,
): () => Promise<void> {
  const reported = new Map<string, number>()
  return async () => {
    const found = await ctx.register.snapshot((reads) => readMappingAnomalies(reads, ctx.ecosystem))
    for (const anomalies of found) {
      if (anomalies.kind === 'unlisted') continue
      const name = `${anomalies.chain} ${anomalies.mapping} ${anomalies.reason}`
      if ((reported.get(name) ?? 0) >= anomalies.logs) continue
      reported.set(name, anomalies.logs)
      ctx.logger.warn(anomalies, 'could not decode logs of a mapping')
    }
  }
}
