import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js'
import { identifyCaller } from '#accounts/metering/callers.ts'
import { getServiceFacts } from '#api/meta-route.ts'
import { metered } from '#api/metered.ts'
import { addEnumType } from '#api/openapi.ts'
import { isObject } from '#base/json.ts'
import { isRefusal, type Refusal, refuse } from '#base/refusal.ts'
import type { Context } from '#context.ts'
import { acceptsType, BROKEN_BODY, type Call, type Outgoing, type Route, toTarget } from '#route.ts'

const INSTRUCTIONS =
  'Figures of a token ecosystem, read from its chains. Every answer says at which block it stands. Data tools cost one call each, free until the daily quota is used up; getUsage says what is left, for free. /llms.txt and /openapi.json of the service say more.'

/** Answers one message of MCP's streamable HTTP transport. Each request has a server of its own, so any replica can answer the next. */
export async function answerMcp(
  ctx: Context,
  routes: readonly Route[],
  message: Call,
): Promise<Outgoing | Refusal> {
  // A batch of a few kilobytes could ask for megabytes; MCP dropped batches in 2025-06-18.
  if (Array.isArray(message.body)) return refuse('invalid_body', 'send one message per request')
  const { headers } = message
  const caller = await identifyCaller(ctx, headers, message.addressBucket)
  if (isRefusal(caller)) return caller
  if (!acceptsType(headers.accept, 'application/json'))
    return refuse('invalid_parameter', 'Accept must allow application/json')
  const { publicBaseUrl } = ctx.ecosystem.service
  const transport = new WebStandardStreamableHTTPServerTransport({
    enableJsonResponse: true,
    // Keeps pages of other sites from reaching a server in the victim's private network.
    enableDnsRebindingProtection: true,
    allowedOrigins: [new URL(publicBaseUrl).origin],
  })
  const server = createServer(ctx, routes, message)
  await server.connect(transport)
  try {
    const response = await transport.handleRequest(toRequest(publicBaseUrl, message), {
      // Given undefined, the transport would read a body that is not there.
      parsedBody: message.body === BROKEN_BODY ? null : withoutNulls(message.body ?? null),
    })
    const type = response.headers.get('content-type')
    const headers = { 'Cache-Control': 'no-store', ...(type !== null && { 'Content-Type': type }) }
    return { status: response.status, headers, body: await response.text() }
  } finally {
    await server.close()
  }
}

/** Some clients send null for absent members, so drop them. */
function withoutNulls(body: unknown): unknown {
  if (!isObject(body)) return body
  const { params, ...message } = body
  if (params === null) return message
  if (!isObject(params) || params.arguments !== null) return body
  const { arguments: _, ...rest } = params
  return { ...message, params: rest }
}

/** The SDK requires both media types, though it answers in JSON. */
function toRequest(publicBaseUrl: string, { headers: given }: Call): Request {
  const headers = new Headers({ accept: 'application/json, text/event-stream' })
  for (const name of ['content-type', 'origin', 'mcp-protocol-version'])
    if (given[name] !== undefined) headers.set(name, String(given[name]))
  return new Request(`${publicBaseUrl}/mcp`, { method: 'POST', headers })
}

function createServer(ctx: Context, routes: readonly Route[], message: Call): Server {
  const { name, version } = getServiceFacts(ctx)
  const server = new Server(
    { name, version },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  )
  const tools = routes.filter(isTool)
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: tools.map((route) => describeTool(ctx, route)),
  }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const route = tools.find(({ operationId }) => operationId === params.name)
    if (route === undefined)
      throw new McpError(
        ErrorCode.InvalidParams,
        `unknown tool "${params.name}"; tools/list names them`,
      )
    const values = params.arguments ?? {}
    return callTool(ctx, message, { route, values, payment: params._meta?.['x402/payment'] })
  })
  return server
}

interface ToolCall {
  readonly route: Route
  readonly values: Readonly<Record<string, unknown>>
  readonly payment: unknown
}

/** Handles the tool like any other call of the client that sent the message: the same checks, count and payment. */
async function callTool(ctx: Context, message: Call, tool: ToolCall): Promise<CallToolResult> {
  const wrong = wrongArguments(tool)
  if (wrong !== undefined) return failed(wrong)
  const outgoing = await metered(ctx, tool.route, toolCall(message, tool))
  const headers = new Headers(outgoing.headers)
  const text = Buffer.from(outgoing.body).toString()
  return { ...toToolResult(outgoing.status, text, headers), _meta: toResultMeta(headers) }
}

/** Structured content is repeated as text (MCP 2025-06-18, Tools), since most clients show the model the text only. */
function toToolResult(status: number, text: string, headers: Headers): CallToolResult {
  if (status === 402) {
    const offer = headers.get('payment-required')
    // Without settlement there is no offer that a client could pay (x402 v2, MCP transport).
    const data = offer === null ? JSON.parse(text) : fromBase64(offer)
    return { ...failed(JSON.stringify(data)), structuredContent: data }
  }
  if (status >= 300) return failed(text)
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

/** These headers describe the message, not the tool's call. A payment among them would be the caller's mistake. */
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
      ...(payment !== undefined && {
        'payment-signature': Buffer.from(JSON.stringify(payment)).toString('base64'),
      }),
    },
    addressBucket: message.addressBucket,
    path,
    query,
    target: toTarget(route.path, path, query),
    body: undefined,
    signal: message.signal,
    isCut: () => message.isCut(),
  }
}

function fromBase64(text: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(text, 'base64').toString('utf8'))
}

function failed(text: string): CallToolResult {
  return { isError: true, content: [{ type: 'text', text }] }
}

function toResultMeta(headers: Headers): Record<string, unknown> {
  const response = headers.get('payment-response')
  return {
    'sexton/quota': {
      limit: Number(headers.get('x-ratelimit-limit')),
      remaining: Number(headers.get('x-ratelimit-remaining')),
      resetUnix: Number(headers.get('x-ratelimit-reset')),
      tier: headers.get('x-ratelimit-tier'),
      source: headers.get('x-ratelimit-source'),
    },
    ...(response !== null && { 'x402/payment-response': fromBase64(response) }),
  }
}

function isTool({ method, metered, stream, operationId }: Route): boolean {
  return method === 'GET' && !stream && (metered || operationId === 'getUsage')
}

function toolParameters({ parameters }: Pick<Route, 'parameters'>) {
  return Object.entries(parameters).filter(([name]) => name !== 'format')
}

/** Leaves out answer schemas, which /openapi.json has. */
function describeTool(ctx: Context, route: Route): Tool {
  const parameters = toolParameters(route)
  return {
    name: route.operationId,
    title: route.summary,
    description: `${route.summary}. ${describeCost(ctx, route)}`,
    annotations: { readOnlyHint: true },
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries(
        parameters.map(([name, { schema: own, description }]) => [
          name,
          addEnumType({ ...own, description }),
        ]),
      ),
      required: parameters.flatMap(([name, each]) => (each.in === 'path' ? [name] : [])),
      additionalProperties: false,
    },
  }
}

function describeCost(ctx: Context, { metered }: Route): string {
  const { payment } = getServiceFacts(ctx)
  if (!metered) return 'Cost: free.'
  const beyond =
    payment === null
      ? 'Beyond the daily quota it is refused until 00:00 UTC.'
      : `Beyond the daily quota it costs ${payment.perCallUsd} USD from the prepaid balance, which x402 tops up.`
  return `Cost: one call of the daily quota; errors are free. ${beyond}`
}
