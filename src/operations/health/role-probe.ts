import { createMetrics, type GaugeReading } from '#serving/api/metrics.ts'
import { leadingGauge, type RoleState } from './index-gauges.ts'
import { type MetricsServer, startMetricsServer } from './metrics-server.ts'

/** The port of a process without an API. */
export async function openRoleProbe(
  input: {
    readonly role: 'index' | 'verifier'
    readonly state: RoleState
    readonly gauges: readonly GaugeReading[]
    /** The state of each store that the role writes: `ok`, or what is wrong. */
    stores(): Promise<Readonly<Record<string, string>>>
    /** What else `/readyz` shows. */
    more?(): Promise<Readonly<Record<string, string>>>
  },
  place: Parameters<typeof startMetricsServer>[1],
): Promise<Omit<MetricsServer, 'port'>> {
  const { role, state } = input
  const metrics = createMetrics([...input.gauges, leadingGauge({ [role]: state })])
  const readiness = async () => {
    const stores = await input.stores()
    const doing = state.leads === undefined ? 'starting' : state.leads ? 'leads' : 'waits'
    const isReady = Object.values(stores).every((each) => each === 'ok')
    const parts = { ...stores, [role]: doing, ...(await input.more?.()) }
    return { ready: isReady && state.leads !== undefined, parts }
  }
  const server = await startMetricsServer({ metrics, readiness }, place)
  return {
    async stop() {
      metrics.stop()
      await server.stop()
    },
  }
}
