import type { Readiness } from '#api/health-routes.ts'
import { readStatus } from '#chains/datasets/file-parts.ts'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { systemClock } from '#lib/time.ts'
import { readReadiness } from '#operations/health/read-readiness.ts'
import type { Engine } from '#store/engine.ts'

/** The readiness of a process that shares the register; its accounts are in the same store. */
export function readinessOf(register: Engine, ecosystem: Ecosystem): Promise<Readiness> {
  return readReadiness({
    register,
    ecosystem,
    accountsState: async () => 'ok',
    jobs: [],
    leading: { index: false, jobs: new Map() },
    clock: systemClock,
    indexing: () => [],
    recentStatus: () => register.snapshot((reads) => readStatus({ ecosystem }, reads)),
  })
}
