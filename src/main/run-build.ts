import { openContext } from '#main/stores.ts'
import { barOf } from '#ops/health/index-progress.ts'
import { type CommandContext, chosenEcosystem, type ExitCode } from './command-context.ts'
import { startIndexThread } from './index-thread.ts'
import { lockRegister } from './lock-folder.ts'
import { keepRegister, noteServed } from './registers.ts'
import { howFar } from './run-service.ts'
import { untilIndexed } from './start.ts'
import { untilStopped } from './until-stopped.ts'

/** `sexton build`: reads the register of the file up to the heads, while a service goes on with another. */
export async function runBuild(command: CommandContext): Promise<ExitCode> {
  const { config, progress, show } = command
  const ecosystem = await chosenEcosystem(config)
  const unlock = await lockRegister(config, ecosystem)
  const ctx = await openContext(command, ecosystem)
  const stopKeeping = await keepRegister(ctx)
  const { dataFolder, database, log } = config
  const work = { config: { dataFolder, database, log }, file: ecosystem.file }
  const index = startIndexThread(work, (news) => {
    if ('leads' in news) return
    const { task, done, total, detail } = barOf(news)
    progress.update(task, done, total, detail)
  })
  const build = async (): Promise<ExitCode> => {
    await untilIndexed({ index, indexed: () => howFar(ctx) }, 'all')
    await noteServed(ctx)
    progress.finish()
    show('The register is built. Restart the service to serve it.')
    return 0
  }
  try {
    return await Promise.race([build(), untilStopped(command, async () => undefined)])
  } finally {
    await index.stop()
    stopKeeping()
    await ctx.close()
    unlock()
  }
}
