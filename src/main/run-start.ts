import { existsSync } from 'node:fs'
import { barOf } from './index-progress.ts'
import { lateIndexThread, loadIndexThread } from './index-thread.ts'
import type { ExitCode, RoleContext } from './role-context.ts'
import type { Settings } from './settings.ts'
import { storeFile } from './store-file.ts'
import { untilStopped } from './until-stopped.ts'

/** Everything in one process, until a signal. Rejects when the start, or later the index, fails. */
export async function runStart(context: RoleContext): Promise<ExitCode> {
  const { progress, settings } = context
  // With an existing register the API starts first.
  const indexThread = hasRegister(settings) ? lateIndexThread() : loadIndexThread()
  // Load in parallel.
  const loaded = import('./start.ts')
  const starting = loaded.then(({ start }) =>
    start({
      ...context,
      indexThread,
      onChains: ({ chain, done, total }) => progress.update(`building ${chain}`, done, total),
      onIndex(chain) {
        const { task, done, total, detail } = barOf(chain)
        progress.update(task, done, total, detail)
      },
    }),
  )
  // Keep the board until all history is read.
  const finishBoard = async () => {
    const [{ untilIndexed }, { service }] = await Promise.all([loaded, starting])
    await untilIndexed(service, 'all')
    progress.finish()
  }
  finishBoard().catch(() => undefined)
  const ended = starting.then(async ({ ready, service }) => {
    await Promise.all([ready, service.index.ended])
  })
  // A signal during the start stops it, too.
  return untilStopped(context, async () => (await starting).stop(), ended)
}

function hasRegister({ register, dataFolder }: Settings): boolean {
  return register.kind === 'sqlite' && existsSync(storeFile(dataFolder, 'register'))
}
