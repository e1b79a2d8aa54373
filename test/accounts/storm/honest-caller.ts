import { setTimeout as sleep } from 'node:timers/promises'
import { openRawLine, type RawLine } from '../truth/raw-line.ts'

/** What honest callers saw. */
export interface HonestView {
  /** Answers by status; 0 stands for a line that broke. */
  readonly statuses: ReadonlyMap<number, number>
  /** Milliseconds of each answer. */
  readonly latenciesMs: readonly number[]
}

const LINES = 4

/** About what a person's dashboard asks, far below what an address may. */
const PAUSE_MS = 120

/** Calls now and then on lines that it keeps, whatever else goes on, until told to stop. */
export async function callHonestly(
  url: string,
  request: string,
  stop: AbortSignal,
): Promise<HonestView> {
  const statuses = new Map<number, number>()
  const latenciesMs: number[] = []
  const run = async () => {
    let line: RawLine | undefined
    while (!stop.aborted) {
      line ??= openRawLine(url)
      const startedMs = performance.now()
      const answer = await line.ask(request, { isHead: false })
      latenciesMs.push(performance.now() - startedMs)
      const status = answer?.status ?? 0
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      if (answer === undefined) line = undefined
      await sleep(PAUSE_MS)
    }
    line?.cut()
  }
  await Promise.all(Array.from({ length: LINES }, run))
  return { statuses, latenciesMs }
}
