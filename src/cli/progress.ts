import type { Writable } from 'node:stream'
import { MultiBar, Presets, type SingleBar } from 'cli-progress'
import type { Clock } from '#lib/clock.ts'
import type { ProgressBoard } from '#main/role-context.ts'

/** Often enough to see that something moves, seldom enough for a log file. */
const LINE_EVERY_MS = 5_000

export interface Board extends ProgressBoard {
  /** Writes beside the bars without tearing them. */
  print(text: string): void
}

/** Bars in a terminal; elsewhere a plain line every few seconds. Both on `output`. */
export function createProgress(deps: {
  readonly output: Writable
  readonly log: Writable
  readonly isTty: boolean
  readonly clock: Clock
}): Board {
  return deps.isTty ? bars(deps) : lines(deps)
}

function bars({ output, log }: { readonly output: Writable; readonly log: Writable }): Board {
  const options = {
    // The type asks for a file's stream; any Writable of a terminal will do.
    stream: output as NodeJS.WritableStream,
    format: '{task} [{bar}] {value}/{total}',
    hideCursor: true,
    clearOnComplete: true,
    gracefulExit: false,
  }
  let board: MultiBar | undefined
  const tasks = new Map<string, SingleBar>()
  let finished = false
  return {
    update(task, done, total) {
      if (finished) return
      board ??= new MultiBar(options, Presets.shades_classic)
      const bar = tasks.get(task) ?? board.create(total, 0, { task: task.padEnd(18) })
      tasks.set(task, bar)
      bar.setTotal(Math.max(total, 1))
      bar.update(Math.min(done, Math.max(total, 1)))
    },
    finish() {
      finished = true
      board?.stop()
      board = undefined
    },
    print(text) {
      if (board === undefined) log.write(text)
      else board.log(text)
    },
  }
}

function lines({
  output,
  log,
  clock,
}: {
  readonly output: Writable
  readonly log: Writable
  readonly clock: Clock
}): Board {
  const shownAtMs = new Map<string, number>()
  let finished = false
  return {
    update(task, done, total) {
      const now = clock()
      const due = now - (shownAtMs.get(task) ?? Number.NEGATIVE_INFINITY) >= LINE_EVERY_MS
      if (finished || !due) return
      shownAtMs.set(task, now)
      output.write(`${task}: ${done} of ${total}\n`)
    },
    finish() {
      finished = true
    },
    print: (text) => void log.write(text),
  }
}
