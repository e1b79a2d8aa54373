import { setTimeout as sleep } from 'node:timers/promises'
import type { Chance } from '#test/chance.ts'
import type { CallKind } from './entry.ts'
import { headerOf, openRawLine, type RawLine } from './raw-line.ts'
import { type RecordedCall, type Recorder, recordCall } from './record-call.ts'
import type { Calling, WhoCalls } from './who-calls.ts'

export interface LoadInput {
  readonly urls: readonly string[]
  readonly who: WhoCalls
  readonly calls: number
  readonly chance: Chance
  /** Lines to each replica. */
  readonly lines: number
  /** Between two turns of a line, to leave the processor to others; none unless given. */
  readonly pauseMs?: number
  /** Ends it before all calls are made. */
  readonly stop?: AbortSignal
}

/** Answers that differ in size and in what they read. */
const paths = [
  '/api/burns/total',
  '/api/stats',
  '/api/burns/recent?limit=1',
  '/api/grave-digs?limit=1',
  '/api/stats/history?period=3d',
] as const

const kinds: readonly (readonly [weight: number, kind: CallKind])[] = [
  [900, 'data'],
  [30, 'conditional'],
  [20, 'usage'],
  [20, 'bad-key'],
  [15, 'bad-parameter'],
  [15, 'unknown-path'],
]

/** So many turns send several calls before the first is answered. */
const PIPELINED = 0.2
const PIPELINED_MAX = 4

/** So many turns are a caller who hangs up, perhaps before the call arrives. */
const ABORTED = 0.01

/** Only these callers hang up: all others' counts must agree to the call. */
const HANGS_UP = 7

/** A line that is given up for a new one after so many turns. */
const TURNS_PER_LINE = 2_000

/** Calls from many lines at once until so many calls were made. */
export async function runLoad(recorder: Recorder, input: LoadInput): Promise<void> {
  let left = input.calls
  const take = (wanted: number) => {
    const taken = input.stop?.aborted ? 0 : Math.min(wanted, left)
    left -= taken
    return taken
  }
  await Promise.all(
    input.urls.flatMap((url, replica) =>
      Array.from({ length: input.lines }, (_, index) => {
        const chance = input.chance.apart(`line ${replica} ${index}`)
        return new LoadLine(recorder, { ...input, url, chance }, take).run()
      }),
    ),
  )
}

class LoadLine {
  readonly #recorder: Recorder
  readonly #input: LoadInput & { readonly url: string }
  readonly #take: (wanted: number) => number
  #etag = '""'

  constructor(
    recorder: Recorder,
    input: LoadInput & { readonly url: string },
    take: (wanted: number) => number,
  ) {
    this.#recorder = recorder
    this.#input = input
    this.#take = take
  }

  async run(): Promise<void> {
    const { chance, url, pauseMs = 0 } = this.#input
    for (let isOver = false; !isOver; ) {
      const line = openRawLine(url)
      for (let turn = 0; turn < TURNS_PER_LINE && !isOver; turn += 1) {
        const wanted = chance.happens(PIPELINED) ? chance.integer(2, PIPELINED_MAX) : 1
        const calls = Array.from({ length: this.#take(wanted) }, () => this.#choose())
        isOver = calls.length === 0
        await Promise.all(calls.map((call) => this.#make(line, call)))
        if (pauseMs > 0) await sleep(pauseMs)
      }
      line.cut()
    }
  }

  async #make(line: RawLine, call: RecordedCall): Promise<void> {
    const { chance, url } = this.#input
    if (call.caller % HANGS_UP === 0 && chance.happens(ABORTED * HANGS_UP)) {
      const own = openRawLine(url)
      const answer = recordCall(this.#recorder, own, call)
      await Promise.race([answer, sleep(chance.integer(0, 3))])
      own.cut()
      await answer
      return
    }
    const answer = await recordCall(this.#recorder, line, call)
    if (answer === undefined) throw new Error(`${url} ended a line by itself`)
    if (answer.status === 200 && call.kind === 'data' && chance.happens(0.05))
      this.#etag = headerOf(answer.head, 'etag') ?? this.#etag
  }

  #choose(): RecordedCall {
    const { who, chance } = this.#input
    const kind = chance.weighted(kinds)
    const calling = who.pick(chance)
    const isHead = isData(kind) && chance.happens(0.15)
    const method = isHead ? 'HEAD' : 'GET'
    const text = (path: string, headers: string) =>
      `${method} ${path} HTTP/1.1\r\nHost: api\r\n${headers}\r\n`
    return { caller: calling.caller, kind, isHead, request: this.#request(kind, calling, text) }
  }

  #request(
    kind: CallKind,
    { headers }: Calling,
    text: (path: string, headers: string) => string,
  ): string {
    const { chance } = this.#input
    if (kind === 'usage') return text('/api/usage', headers)
    if (kind === 'unknown-path') return text(`/api/nothing-${chance.integer(1, 9)}`, headers)
    if (kind === 'bad-parameter') return text('/api/grave-digs?limit=0', headers)
    if (kind === 'bad-key')
      return text('/api/stats', `Authorization: Bearer svc_00000000_${'0'.repeat(32)}\r\n`)
    if (kind === 'conditional') return text(paths[0], `${headers}If-None-Match: ${this.#etag}\r\n`)
    return text(chance.pick(paths), headers)
  }
}

function isData(kind: CallKind): boolean {
  return kind === 'data' || kind === 'conditional'
}
