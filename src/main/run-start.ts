import { barOf } from '#ops/health/index-progress.ts'
import type { CommandContext, ExitCode } from './command-context.ts'
import { start, untilIndexed } from './start.ts'
import { untilStopped } from './until-stopped.ts'

/** `sexton start`. Rejects when the start or, later, the index fails. */
export async function runStart(context: CommandContext): Promise<ExitCode> {
  const { progress } = context
  const starting = start({
    ...context,
    onChains: ({ chain, done, total }) => progress.update(`building ${chain}`, done, total),
    onIndex(chain) {
      const { task, done, total, detail } = barOf(chain)
      progress.update(task, done, total, detail)
    },
  })
  const finishBoard = async () => {
    await untilIndexed((await starting).service, 'all')
    progress.finish()
  }
  finishBoard().catch(() => undefined)
  const ended = starting.then(async ({ ready, service }) => {
    await Promise.all([ready, service.index.ended])
  })
  return untilStopped(context, async () => (await starting).stop(), ended)
}
