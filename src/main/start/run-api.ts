import type { CommandContext, ExitCode } from '../command-context.ts'
import { compose } from '../compose.ts'
import { openService } from '../service.ts'
import { lockFolder } from './lock-folder.ts'
import { serve } from './serve.ts'
import { untilStopped } from './until-stopped.ts'

/** `sexton start --api-only`: this process never leads. */
export async function runApi(context: CommandContext): Promise<ExitCode> {
  const { database, dataFolder } = context.settings
  // Free once the process ends.
  if (database.kind === 'sqlite') await lockFolder(dataFolder)
  const service = await openService(context)
  try {
    const served = await serve(service, await compose(service))
    context.logger.info({ url: served.url, metricsPort: served.metricsPort }, 'API listening')
    return await untilStopped(context, served.stop)
  } finally {
    await service.stores.close()
  }
}
