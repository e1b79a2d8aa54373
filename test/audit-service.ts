import pino from 'pino'
import { sleep } from '#base/async.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { openStores } from '#main/stores.ts'
import { auditAll } from '#ops/audit/audit.ts'
import { auditAccounts } from '#ops/audit/audit-accounts.ts'
import { testContext } from './test-context.ts'
import type { World } from './world.ts'

/** The accounts alone, where the register is not what is tested. */
export async function auditAccountsOf({ config, file }: World): Promise<readonly string[]> {
  const stores = await openStores(config, parseEcosystem('local.ts', file))
  try {
    const ctx = testContext({ ...stores, config, ecosystem: parseEcosystem('local.ts', file) })
    return await auditAccounts(ctx, { pause: () => sleep(2_000), note: () => undefined })
  } finally {
    await stores.close()
  }
}

/** Runs the operator's audit on a running world; gives the differences it names. */
export async function auditService(world: World): Promise<readonly string[]> {
  return await auditAll({
    config: world.config,
    ecosystem: parseEcosystem('local.ts', world.file),
    clock: Date.now,
    logger: pino({ level: 'silent' }),
    onProgress: () => undefined,
    note: () => undefined,
  })
}
