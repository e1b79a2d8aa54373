import { hash } from 'node:crypto'
import { isRefusal, type Refusal } from '#domain/refusal.ts'
import { CSV_TYPE, wantsCsv } from '#http/csv.ts'
import type { Outgoing } from '#http/exchange.ts'
import { toProblem } from '#http/problem.ts'
import type { Answer, Outcome, Route } from '#http/route.ts'
import type { Exchange } from './exchange.ts'

/** How a request ends, before it is put into bytes. */
export type Ending = Outcome | { readonly kind: 'not-modified'; readonly etag: string }

const JSON_TYPE = 'application/json; charset=utf-8'

/** Figures change with every block; a browser may reuse one for about the time of a block. */
const CACHED = 'private, max-age=2'

/** Puts an ending into wire form; throws when a body cannot be serialized. */
export function toWire(
  deps: { readonly publicBaseUrl: string },
  exchange: Exchange,
  ending: Ending,
): Outgoing {
  const outgoing = bare(deps, exchange, ending)
  if (exchange.settledHeaders !== undefined) push(outgoing.headers, exchange.settledHeaders)
  return outgoing
}

function bare(
  deps: { readonly publicBaseUrl: string },
  exchange: Exchange,
  ending: Ending,
): Outgoing {
  if (isRefusal(ending)) return refusalWire(deps, exchange, ending)
  if (ending.kind === 'not-modified')
    return { status: 304, headers: ['ETag', ending.etag, 'Cache-Control', CACHED], body: '' }
  if (ending.kind === 'answer') return answerWire(exchange, ending)
  const headers = ['Content-Type', JSON_TYPE, 'Cache-Control', 'no-store']
  push(headers, ending.headers ?? {})
  return { status: 402, headers, body: JSON.stringify(ending.body) }
}

function refusalWire(
  { publicBaseUrl }: { readonly publicBaseUrl: string },
  { requestId }: Exchange,
  refusal: Refusal,
): Outgoing {
  return toProblem({ publicBaseUrl }, { refusal, requestId })
}

function answerWire(exchange: Exchange, answer: Answer): Outgoing {
  const { route } = exchange
  const sentAsIs = answer.contentType !== undefined && typeof answer.body === 'string'
  const body = sentAsIs ? String(answer.body) : JSON.stringify(answer.body)
  const headers = ['Content-Type', answer.contentType ?? JSON_TYPE]
  if (answer.headers?.['Cache-Control'] === undefined)
    headers.push('Cache-Control', route.metered ? CACHED : 'no-store')
  if (route.metered && answer.revision !== undefined)
    headers.push('ETag', etagOf(exchange, answer, answer.revision))
  if (answer.contentType === CSV_TYPE)
    headers.push('Content-Disposition', `attachment; filename="${fileNameOf(route)}"`)
  push(headers, answer.headers ?? {})
  return { status: answer.status, headers, body }
}

const etags = new WeakMap<Answer, string>()

/** An answer from the cache is the same object for every call, so its tag is made once. */
function etagOf(exchange: Exchange, answer: Answer, revision: string): string {
  const known = etags.get(answer)
  if (known !== undefined) return known
  const etag = etagAt(exchange, revision)
  etags.set(answer, etag)
  return etag
}

/**
 * A weak entity tag (RFC 9110, 8.8.3) of what the request asks for, at this revision: equal tags mean
 * equal content, so nothing per caller may enter the body.
 */
export function etagAt(exchange: Exchange, revision: string): string {
  const { operationId } = exchange.route
  const effective = exchange.prepared?.effective ?? {}
  const text = JSON.stringify([operationId, revision, effective, mediaTypeOf(exchange)])
  return `W/"${hash('sha256', text, 'base64url').slice(0, 22)}"`
}

/** The media type changes the body only where CSV is offered. */
function mediaTypeOf({ route, incoming }: Exchange): string {
  if (route.csv !== true) return 'json'
  const format = incoming.query.get('format')?.[0]
  return wantsCsv(incoming, format === 'csv' || format === 'json' ? format : undefined)
    ? 'csv'
    : 'json'
}

/** The name under which a browser saves a table, such as `burns-recent.csv`. */
function fileNameOf({ path }: Route): string {
  return `${path
    .replace(/^\/api\//, '')
    .replace(/[{}]/g, '')
    .replaceAll('/', '-')}.csv`
}

function push(headers: string[], more: Readonly<Record<string, string>>): void {
  for (const name in more) headers.push(name, more[name] ?? '')
}
