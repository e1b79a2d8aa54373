import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import type { Incoming, Outgoing } from '#api/http/exchange.ts'
import { isObject } from '#lib/json.ts'
import type { Route } from '#route/route.ts'
import { type PipelineDeps, routeEndpoint } from '../pipeline.ts'
import { toolParameters } from './describe-tool.ts'

export interface ToolCall {
  readonly route: Route
  readonly values: Readonly<Record<string, unknown>>
  readonly payment: unknown
  /** The result also as text. */
  readonly wantsText: boolean
}

interface Called {
  readonly result: CallToolResult
  /** Headers of the answer to the message. */
  readonly headers: readonly string[]
}

/**
 * Asks the endpoint through the pipeline, as the client that sent the message: the same checks, the
 * same count, the same payment.
 */
export async function callTool(
  deps: PipelineDeps,
  incoming: Incoming,
  call: ToolCall,
): Promise<Called> {
  const wrong = wrongArguments(call)
  if (wrong !== undefined) return { result: failed(wrong), headers: [] }
  const outgoing = await routeEndpoint(deps, call.route).respond(toIncoming(incoming, call))
  const headers = headersOf(outgoing)
  const source = headers.get('x-ratelimit-source')
  return {
    result: { ...resultOf(outgoing, headers, call), _meta: metaOf(headers) },
    headers: source === undefined ? [] : ['X-RateLimit-Source', source],
  }
}

function resultOf(
  outgoing: Outgoing,
  headers: ReadonlyMap<string, string>,
  { wantsText }: ToolCall,
): CallToolResult {
  if (outgoing.status === 402) return paymentRequired(outgoing, headers)
  const text = textOf(outgoing)
  if (outgoing.status >= 300) return failed(text)
  const content = wantsText ? [{ type: 'text' as const, text }] : []
  return { content, structuredContent: JSON.parse(text) }
}

function wrongArguments({ route, values }: ToolCall): string | undefined {
  const known = toolParameters(route).map(([name]) => name)
  const unknown = Object.keys(values).filter((name) => !known.includes(name))
  if (unknown.length > 0)
    return `unknown arguments: ${unknown.join(', ')}; known: ${known.join(', ')}`
  const nested = Object.keys(values).find(
    (name) => typeof values[name] === 'object' && values[name] !== null,
  )
  return nested && `${nested} must be a text, a number or a boolean`
}

/** Headers of the message alone; a payment among them would be the caller's mistake. */
const OF_MESSAGE = [
  'accept',
  'accept-encoding',
  'content-type',
  'content-length',
  'if-none-match',
  'payment-signature',
  'x-payment',
]

function toIncoming(incoming: Incoming, { route, values, payment }: ToolCall): Incoming {
  const given = Object.entries(values).filter(([, value]) => value !== null)
  const place = (where: 'path' | 'query') =>
    given.filter(([name]) => route.parameters[name]?.in === where)
  const kept = Object.entries(incoming.headers).filter(([name]) => !OF_MESSAGE.includes(name))
  return {
    requestId: incoming.requestId,
    method: 'GET',
    socketAddress: incoming.socketAddress,
    signal: incoming.signal,
    isCut: () => incoming.isCut(),
    headers: {
      ...Object.fromEntries(kept),
      ...(payment !== undefined && { 'payment-signature': toBase64(payment) }),
    },
    path: Object.fromEntries(place('path').map(([name, value]) => [name, String(value)])),
    query: new Map(place('query').map(([name, value]) => [name, [String(value)]])),
    body: undefined,
  }
}

function toBase64(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64')
}

function fromBase64(text: string): unknown {
  return JSON.parse(Buffer.from(text, 'base64').toString('utf8'))
}

function headersOf({ headers }: Outgoing): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (let index = 0; index < headers.length; index += 2)
    found.set((headers[index] ?? '').toLowerCase(), headers[index + 1] ?? '')
  return found
}

export function textOf({ body }: Pick<Outgoing, 'body'>): string {
  return typeof body === 'string' ? body : Buffer.from(body).toString('utf8')
}

function failed(text: string): CallToolResult {
  return { isError: true, content: [{ type: 'text', text }] }
}

function metaOf(headers: ReadonlyMap<string, string>): Record<string, unknown> {
  const response = headers.get('payment-response')
  return {
    'sexton/quota': {
      limit: Number(headers.get('x-ratelimit-limit')),
      remaining: Number(headers.get('x-ratelimit-remaining')),
      resetUnix: Number(headers.get('x-ratelimit-reset')),
      tier: headers.get('x-ratelimit-tier') ?? null,
      source: headers.get('x-ratelimit-source') ?? null,
    },
    ...(response !== undefined && { 'x402/payment-response': fromBase64(response) }),
  }
}

/** x402 v2, MCP transport: the offer as structured content, and wrapped in the text. */
function paymentRequired(outgoing: Outgoing, headers: ReadonlyMap<string, string>): CallToolResult {
  const body: unknown = JSON.parse(textOf(outgoing))
  const message =
    isObject(body) && typeof body.errorMessage === 'string' ? body.errorMessage : 'Payment required'
  const offer = headers.get('payment-required')
  // There is no offer that a client could pay where payments are not settled.
  const data = offer === undefined ? body : fromBase64(offer)
  const text = JSON.stringify({ 'x402/error': { code: 402, message, data } })
  return { ...failed(text), ...(isObject(data) && { structuredContent: { ...data } }) }
}
