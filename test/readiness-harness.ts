import type { Readiness } from '#api/health-routes.ts'
import { filePartsOf } from '#chains/datasets/file-parts.ts'
import { makeDollarPrices } from '#chains/datasets/prices/price-book.ts'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { readIndexStatus } from '#chains/indexer/status.ts'
import { systemClock } from '#lib/time.ts'
import { readReadiness } from '#operations/health/read-readiness.ts'
import type { Engine } from '#store/engine.ts'

/** The readiness of a process that shares the register; its accounts are in the same store. */
export function readinessOf(register: Engine, ecosystem: Ecosystem): Promise<Readiness> {
  return readReadiness({
    register,
    ecosystem,
    file: filePartsOf(ecosystem),
    accountsState: async () => 'ok',
    jobs: [],
    leading: { index: false, jobs: new Map() },
    clock: systemClock,
    prices: makeDollarPrices(ecosystem.tokens),
    indexing: () => [],
    recentStatus: () => register.snapshot((reads) => readIndexStatus(reads, ecosystem.chains)),
  })
}
