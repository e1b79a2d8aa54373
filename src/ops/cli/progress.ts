import type { Writable } from 'node:stream'
import type { Clock } from '#base/time.ts'
import type { CommandContext } from '#main/command-context.ts'

const LINE_EVERY_MS = 5_000

interface Task {
  readonly startedAtMs: number
  readonly startedFrom: number
  readonly shownAtMs: number
}

/** Prints a line for each task every few seconds. */
export function printProgress(output: Writable, clock: Clock): CommandContext['progress'] {
  const tasks = new Map<string, Task>()
  return (name, done, total, detail = '') => {
    const now = clock()
    const task = tasks.get(name)
    if (task !== undefined && now - task.shownAtMs < LINE_EVERY_MS) return
    const { startedAtMs, startedFrom } = task ?? { startedAtMs: now, startedFrom: done }
    tasks.set(name, { startedAtMs, startedFrom, shownAtMs: now })
    const perSecond = ((done - startedFrom) * 1_000) / Math.max(1, now - startedAtMs)
    const left = Math.ceil(Math.max(0, total - done) / perSecond)
    const pace = perSecond > 0 ? ` (${Math.round(perSecond)}/s, ${left} s left)` : ''
    output.write(`${name}: ${done} of ${total}${pace}${detail && `, ${detail}`}\n`)
  }
}
