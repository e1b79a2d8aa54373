import type { Command } from 'commander'
import { type CommandContext, chosenEcosystem, type ExitCode } from '#main/command-context.ts'
import { lockRegister } from '#main/lock-folder.ts'
import { keepRegister, noteServed } from '#main/registers.ts'
import { howFar, startIndexThread } from '#main/run-service.ts'
import { untilIndexed } from '#main/start.ts'
import { openContext } from '#main/stores.ts'
import { untilStopped } from '#main/until-stopped.ts'
import { runOnStores, type StoreOptions, storeCommand } from './run-on-stores.ts'

const EXAMPLES = `
A register belongs to one ecosystem file: what changes figures (contracts, events, prices, first blocks, burn
addresses) needs another. Build it while the service goes on with the old one, then restart; the old one is deleted
once no process has served it for an hour. "sexton check" says whether a build is needed. A build that is stopped goes on
where it was.

Examples:
  sexton build
  SEXTON_DATABASE_URL=postgres://... sexton build --ecosystem my.json
`

export function buildCommand(process: NodeJS.Process): Command {
  return storeCommand('build')
    .description('read the register of the ecosystem file, also while a service runs')
    .addHelpText('after', EXAMPLES)
    .action((options: StoreOptions) => runOnStores(process, runBuild, options))
}

/** Builds the register of the file up to the heads, while a service uses another. */
async function runBuild(command: CommandContext): Promise<ExitCode> {
  const { config, progress, show } = command
  const ecosystem = await chosenEcosystem(config)
  const unlock = await lockRegister(config, ecosystem)
  const ctx = await openContext(command, ecosystem)
  const stopKeeping = await keepRegister(ctx)
  const { dataFolder, database, log } = config
  const work = { config: { dataFolder, database, log }, file: ecosystem.file }
  const index = startIndexThread(work, (news) => {
    if ('leads' in news) return
    const { chain, done, total, logs } = news
    progress.update(`indexing ${chain}`, done, total, `${logs} logs`)
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
