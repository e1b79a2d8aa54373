import type { Logger } from 'pino'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import type { Settings } from '#config.ts'
import { type Clock, unixNow } from '#lib/time.ts'
import { type CommandContext, chosenEcosystem } from './command-context.ts'
import { noteRestore, openStores, reportMigrations, type Stores } from './stores.ts'

/** What a process is composed of. */
export interface Service {
  readonly settings: Settings
  readonly ecosystem: Ecosystem
  readonly stores: Stores
  readonly clock: Clock
  readonly logger: Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>
}

export async function openService({ settings, clock, logger }: CommandContext): Promise<Service> {
  const ecosystem = await chosenEcosystem(settings)
  const stores = await openStores(settings, reportMigrations(logger))
  await noteRestore(settings, stores.accounts, unixNow(clock))
  return { settings, ecosystem, stores, clock, logger }
}
