import type { Readiness } from '#api/health-routes.ts'
import { filePartsOf } from '#datasets/file-parts.ts'
import { makeDollarPrices } from '#datasets/prices/price-book.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { readIndexStatus } from '#indexer/status.ts'
import { systemClock } from '#lib/time.ts'
import { readReadiness } from '#main/gauges/read-readiness.ts'
import type { Engine } from '#store/engine.ts'

/** The readiness of a process that shares the register; its accounts are in the same store. */
export function readinessOf(register: Engine, ecosystem: Ecosystem): Promise<Readiness> {
  return readReadiness({
    register,
    ecosystem,
    file: filePartsOf(ecosystem),
    accountsState: async () => 'ok',
    jobStates: async () => ({}),
    clock: systemClock,
    prices: makeDollarPrices(ecosystem.tokens),
    indexing: () => [],
    recentStatus: () => register.snapshot((reads) => readIndexStatus(reads, ecosystem.chains)),
  })
}
