import { existsSync } from 'node:fs'
import { barOf } from '#operations/health/index-progress.ts'
import type { ExitCode, RoleContext } from '../role-context.ts'
import { storeFile } from '../store-file.ts'
import { lazyIndexThread, loadIndexThread } from './index-thread.ts'
import { untilStopped } from './until-stopped.ts'

/** `sexton start`: everything in one process. Rejects when the start or, later, the index fails. */
export async function runStart(context: RoleContext): Promise<ExitCode> {
  const { progress, settings } = context
  const hasRegister =
    settings.database.kind === 'sqlite' && existsSync(storeFile(settings.dataFolder, 'register'))
  const indexThread = hasRegister ? lazyIndexThread() : loadIndexThread()
  // Loads while the index thread does.
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
  const finishBoard = async () => {
    const [{ untilIndexed }, { service }] = await Promise.all([loaded, starting])
    await untilIndexed(service, 'all')
    progress.finish()
  }
  finishBoard().catch(() => undefined)
  const ended = starting.then(async ({ ready, service }) => {
    await Promise.all([ready, service.index.ended])
  })
  return untilStopped(context, async () => (await starting).stop(), ended)
}
