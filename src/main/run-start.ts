import { existsSync } from 'node:fs'
import { barOf } from './index-progress.ts'
import { lateIndexThread, loadIndexThread } from './index-thread.ts'
import type { ExitCode, RoleContext } from './role-context.ts'
import type { Settings } from './settings.ts'
import { storeFile } from './store-file.ts'
import { untilStopped } from './until-stopped.ts'

/** Everything in one process, until a signal. Rejects when the start or, later, the index fails. */
export async function runStart(context: RoleContext): Promise<ExitCode> {
  const { progress, settings } = context
  // Where there is a register, the API answers from it first.
  const indexThread = hasRegister(settings) ? lateIndexThread() : loadIndexThread()
  // Its modules are loaded at the same time.
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
  // The board stays until the last of the history is read.
  const finishBoard = async () => {
    const [{ untilIndexed }, { service }] = await Promise.all([loaded, starting])
    await untilIndexed(service, 'all')
    progress.finish()
  }
  finishBoard().catch(() => undefined)
  const ended = starting.then(async ({ ready, service }) => {
    await Promise.all([ready, service.index.ended])
  })
  // Whoever asks it to stop while it starts is heard, too.
  return untilStopped(context, async () => (await starting).stop(), ended)
}

function hasRegister({ register, dataFolder }: Settings): boolean {
  return register.kind === 'sqlite' && existsSync(storeFile(dataFolder, 'register'))
}
