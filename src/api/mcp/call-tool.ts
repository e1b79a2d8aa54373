import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import type { Context } from '#context.ts'
import { isObject } from '#lib/json.ts'
import { type Call, type Outgoing, type Route, targetOf } from '#route/route.ts'
import { metered } from '../metered.ts'
import { toolParameters } from './describe-tool.ts'

interface ToolCall {
  readonly route: Route
  readonly values: Readonly<Record<string, unknown>>
  readonly payment: unknown
}

interface Called {
  readonly result: CallToolResult
  /** Headers of the answer to the message. */
  readonly headers: readonly string[]
}

/** A call like any other of the client that sent the message: the same checks, the same count, the same payment. */
export async function callTool(ctx: Context, message: Call, tool: ToolCall): Promise<Called> {
  const wrong = wrongArguments(tool)
  if (wrong !== undefined) return { result: failed(wrong), headers: [] }
  const outgoing = await metered(ctx, tool.route, toolCall(message, tool))
  const headers = headersOf(outgoing)
  const source = headers.get('x-ratelimit-source')
  return {
    result: { ...resultOf(outgoing, headers), _meta: metaOf(headers) },
    headers: source === undefined ? [] : ['X-RateLimit-Source', source],
  }
}

/** Structured content is repeated as text (MCP 2025-06-18, Tools), since most clients show the model the text only. */
function resultOf(outgoing: Outgoing, headers: ReadonlyMap<string, string>): CallToolResult {
  if (outgoing.status === 402) return paymentRequired(outgoing, headers)
  const text = textOf(outgoing)
  if (outgoing.status >= 300) return failed(text)
  return { content: [{ type: 'text', text }], structuredContent: JSON.parse(text) }
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

function toolCall(message: Call, { route, values, payment }: ToolCall): Call {
  const given = Object.entries(values).filter(([, value]) => value !== null)
  const place = (where: 'path' | 'query') =>
    given.filter(([name]) => route.parameters[name]?.in === where)
  const kept = Object.entries(message.headers).filter(([name]) => !OF_MESSAGE.includes(name))
  const path = Object.fromEntries(place('path').map(([name, value]) => [name, String(value)]))
  const query = new Map(place('query').map(([name, value]) => [name, [String(value)]]))
  return {
    requestId: message.requestId,
    method: 'GET',
    headers: {
      ...Object.fromEntries(kept),
      ...(payment !== undefined && { 'payment-signature': toBase64(payment) }),
    },
    addressBucket: message.addressBucket,
    path,
    query,
    target: targetOf(route.path, path, query),
    body: undefined,
    signal: message.signal,
    isCut: () => message.isCut(),
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

/** The offer as structured content and as text (x402 v2, MCP transport). */
function paymentRequired(outgoing: Outgoing, headers: ReadonlyMap<string, string>): CallToolResult {
  const offer = headers.get('payment-required')
  // There is no offer that a client could pay where payments are not settled.
  const data: unknown = offer === undefined ? JSON.parse(textOf(outgoing)) : fromBase64(offer)
  return {
    ...failed(JSON.stringify(data)),
    ...(isObject(data) && { structuredContent: { ...data } }),
  }
}
