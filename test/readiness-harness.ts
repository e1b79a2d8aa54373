import type { Readiness } from '#api/health-routes.ts'
import type { Engine } from '#db/engine.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { readReadiness } from '#ops/health/read-readiness.ts'
import { testContext } from './test-context.ts'

/** The readiness of a process that shares the register, and does nothing but answer. */
export function readinessOf(register: Engine, ecosystem: Ecosystem): Promise<Readiness> {
  // It reads no deposits.
  return readReadiness(testContext({ register, accounts: register, ecosystem }), {
    accountsState: async () => 'ok',
    jobs: [],
    leading: { index: false, jobs: new Map() },
    indexing: () => [],
  })
}
