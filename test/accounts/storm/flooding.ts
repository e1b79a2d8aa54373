import { setTimeout as sleep } from 'node:timers/promises'
import type { Chance } from '#test/simulation/chance.ts'
import { openRawLine, type RawLine } from '../truth/raw-line.ts'
import { type Flood, floods } from './floods.ts'

/** What the floods were answered. */
export interface FloodView {
  readonly sent: number
  /** Requests for which no line was free: the service took no more. */
  readonly heldBack: number
  /** Answers by flood and status; 0 stands for a line that ended. */
  readonly answers: ReadonlyMap<string, number>
  /** Answers with a status that their flood must not get. */
  readonly unexpected: readonly string[]
}

export interface FloodInput {
  readonly url: string
  readonly perSecond: number
  readonly chance: Chance
  readonly stop: AbortSignal
}

const TICK_MS = 10
/** Of a storm without an answer to one of its kinds. */
const LONGEST_MS = 60_000
const LINES = 128
/** Sent on one line before the first of them is answered. */
const PIPELINED_MAX = 24

interface FloodLine {
  line: RawLine
  waiting: number
}

/**
 * Sends so many requests a second, whether earlier ones are answered or not, until told to stop and every kind was
 * answered as it must be at least once.
 */
export async function flood(input: FloodInput): Promise<FloodView> {
  const { url, perSecond, chance, stop } = input
  const lines: FloodLine[] = Array.from({ length: LINES }, () => ({
    line: openRawLine(url),
    waiting: 0,
  }))
  const answers = new Map<string, number>()
  const unexpected: string[] = []
  const kinds = floods.map((each) => [each.weight, each] as const)
  let sent = 0
  let heldBack = 0
  let due = 0
  const send = (place: FloodLine, kind: Flood) => {
    place.waiting += 1
    sent += 1
    void place.line.ask(kind.request(chance), { isHead: false }).then((answer) => {
      place.waiting -= 1
      const status = answer?.status ?? 0
      const what = `${kind.name} ${status}`
      answers.set(what, (answers.get(what) ?? 0) + 1)
      if (answer === undefined) place.line = openRawLine(url)
      else if (status !== 429 && !kind.statuses.includes(status))
        if (unexpected.length < 5) unexpected.push(`${what}: ${answer.body.slice(0, 200)}`)
    })
  }
  const isAnswered = ({ name, statuses }: Flood) =>
    statuses.some((status) => answers.has(`${name} ${status}`))
  const endMs = performance.now() + LONGEST_MS
  let last = performance.now()
  while (!stop.aborted || (performance.now() < endMs && !floods.every(isAnswered))) {
    await sleep(TICK_MS)
    const now = performance.now()
    due = Math.min(due + ((now - last) / 1_000) * perSecond, perSecond)
    last = now
    for (; due >= 1; due -= 1) {
      const place = lines[chance.integer(0, LINES - 1)]
      if (place === undefined || place.waiting >= PIPELINED_MAX) heldBack += 1
      else send(place, chance.weighted(kinds))
    }
  }
  for (const { line } of lines) line.cut()
  return { sent, heldBack, answers, unexpected }
}

const CAPACITY_MS = 3_000

/** Answers a second to as many callers as it can take. */
export async function measureCapacity(url: string, chance: Chance): Promise<number> {
  const [dataCalls] = floods
  if (dataCalls === undefined) throw new Error('there is no flood')
  const endMs = performance.now() + CAPACITY_MS
  let answered = 0
  const run = async () => {
    const line = openRawLine(url)
    while (performance.now() < endMs) {
      await line.ask(dataCalls.request(chance), { isHead: false })
      answered += 1
    }
    line.cut()
  }
  await Promise.all(Array.from({ length: LINES }, run))
  return (answered / CAPACITY_MS) * 1_000
}
