import type { Logger } from 'pino'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import type { Clock } from '#lib/time.ts'
import { chosenEcosystem, type RoleContext } from './role-context.ts'
import type { Settings } from './settings.ts'
import { openStores, reportMigrations, type Stores } from './stores.ts'

/** What every role is composed of; each takes the part that it needs. */
export interface Service {
  readonly settings: Settings
  readonly ecosystem: Ecosystem
  readonly stores: Stores
  readonly clock: Clock
  readonly logger: Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>
}

export async function openService({ settings, clock, logger }: RoleContext): Promise<Service> {
  const ecosystem = await chosenEcosystem(settings)
  const stores = await openStores(settings, reportMigrations(logger))
  return { settings, ecosystem, stores, clock, logger }
}
