import { sleep } from '#base/async.ts'
import type { Clock } from '#base/time.ts'
import type { Config } from '#config.ts'
import type { Context } from '#context.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { describeAnomalies, readMappingAnomalies } from '#index/mappings.ts'
import { proveEcosystem } from '#index/prove-ecosystem.ts'
import { openSources } from '#main/run-index.ts'
import { openStores } from '#main/stores.ts'
import { auditAccounts } from './audit-accounts.ts'
import { auditRegister } from './audit-register.ts'
import type { AuditDeps } from './prove-balances.ts'

interface AuditInput extends Pick<AuditDeps, 'onProgress' | 'note'> {
  readonly config: Config
  readonly ecosystem: Ecosystem
  readonly clock: Clock
  readonly logger: Context['logger']
}

/** A reorg during the audit needs another attempt. */
const TRIES_MAX = 5
const TRY_AGAIN_MS = 2_000

/**
 * Returns every difference of the accounts and the first of the register. Throws ProofError if the chains cannot be
 * read or are not those of the file.
 */
export async function auditAll(input: AuditInput): Promise<readonly string[]> {
  const { ecosystem } = input
  const stores = await openStores(input.config, input.ecosystem)
  try {
    const sourceOf = openSources(ecosystem, input.logger)
    await proveEcosystem(ecosystem, sourceOf)
    const register = await auditUntilStill({ ...input, register: stores.register, sourceOf })
    const anomalies = await stores.register.snapshot((reads) =>
      readMappingAnomalies(reads, ecosystem),
    )
    const unread = anomalies
      .filter(({ kind }) => kind === 'unreadable')
      .map((each) => `${each.mapping} on ${each.chain}: ${describeAnomalies(each)}`)
    for (const each of anomalies)
      if (each.kind === 'unlisted')
        input.note(`${each.mapping} on ${each.chain}: ${describeAnomalies(each)}`)
    const ctx = { ...input, ...stores, admissions: stores.accounts }
    const accounts = await auditAccounts(ctx, { pause, note: input.note })
    return [...register, ...unread, ...accounts]
  } finally {
    await stores.close()
  }
}

const pause = () => sleep(TRY_AGAIN_MS)

async function auditUntilStill(deps: AuditDeps): Promise<readonly string[]> {
  for (let attempt = 1; ; attempt += 1) {
    const { difference, moved } = await auditRegister(deps)
    if (moved === undefined) return difference === undefined ? [] : [difference]
    if (attempt === TRIES_MAX)
      return [
        `${moved}: a reorg removed the indexed block in each of ${TRIES_MAX} attempts; check that the index is running`,
      ]
    deps.note(`${moved}: reorg during the audit; retrying`)
    await pause()
  }
}
