import type { CallKind, Entry, Source } from './entry.ts'
import { headerOf, numberOf, type RawAnswer, type RawLine } from './raw-line.ts'

/** Sends calls and writes down what was sent and what came back. */
export interface Recorder {
  note(entry: Entry): void
  /** Counts calls from 1. */
  nextCall(): number
}

export interface RecordedCall {
  readonly caller: number
  readonly kind: CallKind
  readonly request: string
  readonly isHead: boolean
}

/** Makes one call; gives its answer, or undefined when the line ended before it. */
export async function recordCall(
  { note, nextCall }: Recorder,
  line: RawLine,
  { caller, kind, request, isHead }: RecordedCall,
): Promise<RawAnswer | undefined> {
  const call = nextCall()
  const sentMs = Date.now()
  note({ type: 'sent', call, caller, kind, atMs: sentMs })
  const answer = await line.ask(request, { isHead })
  const atMs = Date.now()
  if (answer === undefined) {
    note({ type: 'lost', call, caller, kind, atMs })
    return answer
  }
  const { status, head } = answer
  note({
    type: 'answered',
    call,
    caller,
    kind,
    status,
    source: sourceOf(head),
    limit: numberOf(head, 'x-ratelimit-limit'),
    remaining: numberOf(head, 'x-ratelimit-remaining'),
    resetUnix: numberOf(head, 'x-ratelimit-reset'),
    sentMs,
    atMs,
  })
  return answer
}

function sourceOf(head: string): Source {
  const text = headerOf(head, 'x-ratelimit-source')
  return text === 'quota' || text === 'prepaid' ? text : 'none'
}
