import { createMetrics } from '#api/metrics.ts'
import type { PortSetting } from '../settings.ts'
import { progressGauges } from './index-gauges.ts'
import type { IndexProgress } from './index-progress.ts'
import { startMetricsServer } from './metrics-server.ts'

export interface IndexMetrics {
  readonly port: number
  stop(): Promise<void>
}

/** For a process that only indexes: pace and endpoints, which no other process knows. */
export async function openIndexMetrics(
  indexing: () => readonly IndexProgress[],
  place: PortSetting,
): Promise<IndexMetrics> {
  const metrics = createMetrics(progressGauges({ indexing }))
  const server = await startMetricsServer({ metrics }, place)
  return {
    port: server.port,
    async stop() {
      metrics.stop()
      await server.stop()
    },
  }
}
