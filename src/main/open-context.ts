import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import type { Context } from '#context.ts'
import { unixNow } from '#lib/time.ts'
import { noteRestore, openStores, reportMigrations } from './stores.ts'

interface OpenContext extends Context {
  /** Closes the stores. */
  close(): Promise<void>
}

/** Opens and migrates the stores. Throws StoreError and leaves nothing open. */
export async function openContext(
  { config, clock, logger }: Pick<Context, 'config' | 'clock' | 'logger'>,
  ecosystem: Ecosystem,
): Promise<OpenContext> {
  const stores = await openStores(config, ecosystem, reportMigrations(logger))
  await noteRestore(config, stores.accounts, unixNow(clock))
  return { config, ecosystem, ...stores, clock, logger }
}
