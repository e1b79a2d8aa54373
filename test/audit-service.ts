import pino from 'pino'
import { auditAll } from '#audit/audit.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import type { World } from './world.ts'

/** Runs the operator's audit on a running world; gives the differences it names. */
export async function auditService(world: World): Promise<readonly string[]> {
  return await auditAll({
    settings: world.settings,
    ecosystem: parseEcosystem('local.ts', world.file),
    clock: Date.now,
    logger: pino({ level: 'silent' }),
    onProgress: () => undefined,
    note: () => undefined,
  })
}
