import type { Writable } from 'node:stream'
import type { Clock } from '#lib/time.ts'
import type { Progress } from '#main/command-context.ts'

const LINE_EVERY_MS = 5_000

/** A line of each task every few seconds. */
export function createProgress(output: Writable, clock: Clock): Progress {
  const shownAtMs = new Map<string, number>()
  const first = new Map<string, { readonly atMs: number; readonly done: number }>()
  const pace = (task: string, done: number, total: number) => {
    const start = first.get(task) ?? { atMs: clock(), done }
    first.set(task, start)
    const perSecond = ((done - start.done) * 1000) / Math.max(1, clock() - start.atMs)
    if (perSecond <= 0) return ''
    const left = Math.ceil(Math.max(0, total - done) / perSecond)
    return `(${perSecond.toFixed(perSecond < 10 ? 1 : 0)}/s, ${left} s left)`
  }
  let finished = false
  return {
    update(task, done, total, detail = '') {
      const now = clock()
      const speed = pace(task, done, total)
      const due = now - (shownAtMs.get(task) ?? Number.NEGATIVE_INFINITY) >= LINE_EVERY_MS
      if (finished || !due) return
      shownAtMs.set(task, now)
      const words = [`${task}: ${done} of ${total}`, speed, detail].filter((word) => word !== '')
      output.write(`${words.join(' ')}\n`)
    },
    finish() {
      finished = true
    },
  }
}
