import type { ExitCode, RoleContext } from './role-context.ts'
import { start } from './start.ts'
import { untilStopped } from './until-stopped.ts'

/** Everything in one process, until a signal. Rejects when the start or, later, the index fails. */
export async function runStart(context: RoleContext): Promise<ExitCode> {
  const { progress } = context
  const { service, stop } = await start({
    ...context,
    onChains: ({ chain, done, total }) => progress.update(`building ${chain}`, done, total),
    onIndex: ({ chain, blockNumber, headNumber }) =>
      progress.update(`indexing ${chain}`, blockNumber, headNumber),
    say(text) {
      progress.finish()
      context.say(text)
    },
  })
  return untilStopped(context, stop, service.index.ended)
}
