import type { CallKind, Source } from './entry.ts'
import type { Journal } from './journal.ts'
import { headerOf, numberOf, type RawAnswer, type RawLine } from './raw-line.ts'

/** Sends calls and writes down what was sent and what came back. */
export interface Recorder {
  readonly journal: Journal
  readonly clock: () => number
  /** Counts calls from 1. */
  nextCall(): number
  /** Told of every failure: an answer of 5xx, or a line that ended. */
  readonly failed?: (what: string) => void
  /** Told of every answer of the service, in milliseconds. */
  readonly took?: (ms: number) => void
}

export interface RecordedCall {
  readonly caller: number
  readonly kind: CallKind
  readonly request: string
  readonly isHead: boolean
}

/** Makes one call; gives its answer, or undefined when the line ended before it. */
export async function recordCall(
  { journal, clock, nextCall, failed, took }: Recorder,
  line: RawLine,
  { caller, kind, request, isHead }: RecordedCall,
): Promise<RawAnswer | undefined> {
  const call = nextCall()
  const sentMs = clock()
  journal.add({ type: 'sent', call, caller, kind, atMs: sentMs })
  const named = request.replace('\r\n', `\r\nX-Call: ${call}\r\n`)
  const started = performance.now()
  const answer = await line.ask(named, { isHead })
  const atMs = clock()
  if (answer === undefined || PROXY_STATUSES.includes(answer.status)) {
    failed?.(answer === undefined ? 'connection ended' : `${answer.status} of the proxy`)
    journal.add({ type: 'lost', call, caller, kind, atMs })
    return answer
  }
  took?.(performance.now() - started)
  if (answer.status >= 500) failed?.(`${answer.status} ${problemOf(answer)}`)
  const { status, head } = answer
  journal.add({
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

/** Said by a proxy for a replica that it could not ask, or that did not answer. */
const PROXY_STATUSES: readonly number[] = [502, 504]

function problemOf({ body }: RawAnswer): string {
  return /"detail":"([^"]*)"/.exec(body)?.[1] ?? (body.slice(0, 80) || 'to HEAD')
}

function sourceOf(head: string): Source {
  const text = headerOf(head, 'x-ratelimit-source')
  return text === 'quota' || text === 'prepaid' ? text : 'none'
}
