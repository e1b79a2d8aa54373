import pino from 'pino'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { auditAll } from '#main/audit.ts'
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
