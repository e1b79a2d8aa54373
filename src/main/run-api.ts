import { compose, serve } from '#main/serve.ts'
import { openContext } from '#main/stores.ts'
import { type CommandContext, chosenEcosystem, type ExitCode } from './command-context.ts'
import { lockFolder } from './lock-folder.ts'
import { keepRegister } from './registers.ts'
import { untilStopped } from './until-stopped.ts'

/** `sexton start --api-only`: this process never leads. */
export async function runApi(command: CommandContext): Promise<ExitCode> {
  const { database, dataFolder } = command.config
  // Free once the process ends.
  if (database.kind === 'sqlite') await lockFolder(dataFolder)
  const ctx = await openContext(command, await chosenEcosystem(command.config))
  const stopKeeping = await keepRegister(ctx)
  try {
    const served = await serve(ctx, await compose(ctx))
    ctx.logger.info({ url: served.url, metricsPort: served.metricsPort }, 'API listening')
    return await untilStopped(command, served.stop)
  } finally {
    stopKeeping()
    await ctx.close()
  }
}
