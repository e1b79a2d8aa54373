import { barOf } from './index-progress.ts'
import { loadIndexThread } from './index-thread.ts'
import type { ExitCode, RoleContext } from './role-context.ts'
import { untilStopped } from './until-stopped.ts'

/** Everything in one process, until a signal. Rejects when the start or, later, the index fails. */
export async function runStart(context: RoleContext): Promise<ExitCode> {
  const { progress } = context
  const indexThread = loadIndexThread()
  // Its modules are loaded at the same time.
  const { start, untilIndexed } = await import('./start.ts')
  const { service, stop } = await start({
    ...context,
    indexThread,
    onChains: ({ chain, done, total }) => progress.update(`building ${chain}`, done, total),
    onIndex(chain) {
      const { task, done, total, detail } = barOf(chain)
      progress.update(task, done, total, detail)
    },
  })
  // The board stays until the last of the history is read.
  void untilIndexed(service, 'all').then(
    () => progress.finish(),
    () => undefined,
  )
  return untilStopped(context, stop, service.index.ended)
}
