import type { Engine, OnMigration } from '#store/engine.ts'
import type { Settings } from '../settings.ts'
import { migrateStore, openStore } from '../stores.ts'

/** Opens the register for roles without accounts. */
export async function openRegister(
  settings: Pick<Settings, 'dataFolder' | 'database'>,
  onMigration?: OnMigration,
): Promise<Engine> {
  const register = await openStore(settings.dataFolder, 'register', settings.database, {
    ownThread: true,
  })
  try {
    await migrateStore(register, 'register', onMigration)
    return register
  } catch (error) {
    await register.close()
    throw error
  }
}
