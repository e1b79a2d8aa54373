import { barOf } from './index-progress.ts'
import { runIndexRole } from './index-role.ts'
import { openRegister } from './open-register.ts'
import { chosenEcosystem, type ExitCode, type RoleContext } from './role-context.ts'
import { reportMigrations } from './stores.ts'
import { untilStopped } from './until-stopped.ts'

/** The index role alone, until a signal. Further ones stand by. */
export async function runIndex(context: RoleContext): Promise<ExitCode> {
  const { settings, progress } = context
  const ecosystem = await chosenEcosystem(settings)
  const register = await openRegister(settings, reportMigrations(context.logger))
  const ending = new AbortController()
  const indexing = runIndexRole(
    {
      ...context,
      ecosystem,
      register,
      onChangedFile: settings.onChangedFile,
      onProgress(chain) {
        const { task, done, total, detail } = barOf(chain)
        progress.update(task, done, total, detail)
      },
    },
    ending.signal,
  )
  const stop = async () => {
    ending.abort()
    await indexing
  }
  try {
    return await untilStopped(context, stop, indexing)
  } finally {
    await register.close()
  }
}
