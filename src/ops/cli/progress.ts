import type { Writable } from 'node:stream'
import { MultiBar, Presets, type SingleBar } from 'cli-progress'
import type { Clock } from '#base/time.ts'
import type { ProgressBoard } from '#main/command-context.ts'

const LINE_EVERY_MS = 5_000

interface BoardDeps {
  readonly output: Writable
  readonly log: Writable
  readonly clock: Clock
}

/** Draws bars in a terminal, else prints a line every few seconds. */
export function createProgress(deps: BoardDeps & { readonly isTty: boolean }): ProgressBoard {
  return deps.isTty ? bars(deps) : lines(deps)
}

function bars({ output, log, clock }: BoardDeps): ProgressBoard {
  const options = {
    // The type asks for a file's stream, but any Writable works.
    stream: output as NodeJS.WritableStream,
    format: '{task} [{bar}] {value}/{total} {pace} {detail}',
    hideCursor: true,
    clearOnComplete: true,
    gracefulExit: false,
  }
  let board: MultiBar | undefined
  const tasks = new Map<string, SingleBar>()
  const pace = createPace(clock)
  let finished = false
  return {
    update(task, done, total, detail = '') {
      if (finished) return
      board ??= new MultiBar(options, Presets.shades_classic)
      const bar =
        tasks.get(task) ?? board.create(total, 0, { task: task.padEnd(18), pace: '', detail })
      tasks.set(task, bar)
      bar.setTotal(Math.max(total, 1))
      bar.update(Math.min(done, Math.max(total, 1)), {
        pace: pace(task, done, total),
        detail,
      })
    },
    finish() {
      finished = true
      // Flush text printed since the last redraw.
      board?.update()
      board?.stop()
      board = undefined
    },
    print(text) {
      if (board === undefined) log.write(text)
      else board.log(text)
    },
  }
}

function lines({ output, log, clock }: BoardDeps): ProgressBoard {
  const shownAtMs = new Map<string, number>()
  const pace = createPace(clock)
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
    print: (text) => void log.write(text),
  }
}

function createPace(clock: Clock): (task: string, done: number, total: number) => string {
  const first = new Map<string, { readonly atMs: number; readonly done: number }>()
  return (task, done, total) => {
    const start = first.get(task) ?? { atMs: clock(), done }
    first.set(task, start)
    const perSecond = ((done - start.done) * 1000) / Math.max(1, clock() - start.atMs)
    if (perSecond <= 0) return ''
    const left = Math.ceil(Math.max(0, total - done) / perSecond)
    return `(${perSecond.toFixed(perSecond < 10 ? 1 : 0)}/s, ${left} s left)`
  }
}
