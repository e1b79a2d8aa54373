import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import {
  CallToolRequestSchema,
  ErrorCode,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  type Resource,
  type TextResourceContents,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js'
import { identifyCaller } from '#accounts/metering/callers.ts'
import type { Context } from '#context.ts'
import { isRefusal, type Refusal, refuse } from '#domain/refusal.ts'
import { isObject } from '#lib/json.ts'
import { askRoutes } from '#route/ask-routes.ts'
import { acceptsType, BROKEN_BODY, type Call, type Outgoing, type Route } from '#route/route.ts'
import type { Page } from '../outside-routes.ts'
import { factsOf } from '../service-facts.ts'
import { callTool, textOf } from './call-tool.ts'
import { describeTool, isTool } from './describe-tool.ts'

interface McpDeps {
  readonly ctx: Context
  readonly routes: readonly Route[]
  readonly pages: readonly Page[]
}

const INSTRUCTIONS =
  'Figures of a token ecosystem, read from its chains. Every answer says at which block it stands. Data tools cost one call each, free until the daily quota is used up; getUsage says what is left, for free.'

/**
 * Answers one message of MCP's streamable HTTP transport. Stateless: a server for each request, so that any
 * replica can answer the next.
 */
export async function answerMcp(deps: McpDeps, message: Call): Promise<Outgoing | Refusal> {
  // A batch of a few kilobytes would ask for megabytes; MCP dropped batches in 2025-06-18.
  if (Array.isArray(message.body)) return refuse('invalid_body', 'send one message per request')
  const { headers } = message
  const caller = await identifyCaller(deps.ctx, headers, message.addressBucket)
  if (isRefusal(caller)) return caller
  if (!acceptsType(headers.accept, 'application/json'))
    return refuse('invalid_parameter', 'Accept must admit application/json')
  const answered: Answered = { headers: [] }
  const transport = new WebStandardStreamableHTTPServerTransport({
    enableJsonResponse: true,
    // Pages of other sites must not reach a server that only the victim's network can.
    enableDnsRebindingProtection: true,
    allowedOrigins: [new URL(deps.ctx.ecosystem.service.publicBaseUrl).origin],
  })
  const server = createServer(deps, message, answered)
  await server.connect(transport)
  try {
    const response = await transport.handleRequest(toRequest(deps, message), {
      // Undefined would make it read a body that is not there.
      parsedBody: message.body === BROKEN_BODY ? null : withoutNulls(message.body ?? null),
    })
    const type = response.headers.get('content-type')
    const typed = type === null ? [] : ['Content-Type', type]
    const all = ['Cache-Control', 'no-store', ...answered.headers, ...typed]
    return { status: response.status, headers: all, body: await response.text() }
  } finally {
    await server.close()
  }
}

/** What a call of a tool adds to the headers of the answer. */
interface Answered {
  headers: readonly string[]
}

/** Null members of a message are absent ones. */
function withoutNulls(body: unknown): unknown {
  if (!isObject(body)) return body
  const { params, ...message } = body
  if (params === null) return message
  if (!isObject(params) || params.arguments !== null) return body
  const { arguments: _, ...rest } = params
  return { ...message, params: rest }
}

/** The SDK wants both media types, though it answers in JSON. */
function toRequest({ ctx }: McpDeps, { headers }: Call): Request {
  const names = ['content-type', 'origin', 'mcp-protocol-version'] as const
  const given = names.flatMap((name) => {
    const value = headers[name]
    return value === undefined ? [] : [[name, String(value)] as [string, string]]
  })
  const accept: [string, string] = ['accept', 'application/json, text/event-stream']
  return new Request(`${ctx.ecosystem.service.publicBaseUrl}/mcp`, {
    method: 'POST',
    headers: [...given, accept],
  })
}

const described = new WeakMap<McpDeps['routes'], readonly Tool[]>()

/** Builds the list once. */
function toolsOf({ ctx, routes }: McpDeps): readonly Tool[] {
  const known = described.get(routes)
  if (known !== undefined) return known
  const tools = routes.filter(isTool).map((route) => describeTool(ctx, route))
  described.set(routes, tools)
  return tools
}

function createServer(deps: McpDeps, message: Call, answered: Answered): Server {
  const { name, version } = factsOf(deps.ctx)
  const server = new Server(
    { name, version },
    { capabilities: { tools: {}, resources: {} }, instructions: INSTRUCTIONS },
  )
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...toolsOf(deps)] }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const route = deps.routes.find((each) => isTool(each) && each.operationId === params.name)
    if (route === undefined)
      throw new McpError(
        ErrorCode.InvalidParams,
        `unknown tool "${params.name}"; tools/list names them`,
      )
    const { result, headers } = await callTool(deps.ctx, message, {
      route,
      values: params.arguments ?? {},
      payment: params._meta?.['x402/payment'],
    })
    answered.headers = headers
    return result
  })
  server.setRequestHandler(ListResourcesRequestSchema, () => ({
    resources: listResources(deps.ctx),
  }))
  server.setRequestHandler(ReadResourceRequestSchema, async ({ params }) => ({
    contents: [await readResource(deps, message, params.uri)],
  }))
  return server
}

const META = '/api/meta'

const RESOURCES = [
  { name: META, title: 'Chains, tokens, metrics, limits and prices', mimeType: 'application/json' },
  { name: '/llms.txt', title: 'How to use the service', mimeType: 'text/plain' },
  { name: '/openapi.json', title: 'The OpenAPI document', mimeType: 'application/json' },
] as const

function listResources({ ecosystem }: Context): Resource[] {
  return RESOURCES.map((each) => ({
    uri: `${ecosystem.service.publicBaseUrl}${each.name}`,
    ...each,
  }))
}

async function readResource(
  deps: McpDeps,
  message: Call,
  uri: string,
): Promise<TextResourceContents> {
  const { publicBaseUrl } = deps.ctx.ecosystem.service
  const path = uri.startsWith(publicBaseUrl) ? uri.slice(publicBaseUrl.length) : uri
  const resource = RESOURCES.find(({ name }) => name === path)
  if (resource === undefined)
    throw new McpError(
      ErrorCode.InvalidParams,
      `unknown resource "${uri}"; resources/list names them`,
    )
  const { mimeType } = resource
  if (path === META)
    return { uri, mimeType, text: JSON.stringify(await askRoutes(deps.routes)('getMeta')) }
  const page = deps.pages.find((each) => each.path === path)
  const outgoing = await page?.read({ ...message, headers: {} })
  if (outgoing === undefined || isRefusal(outgoing))
    throw new McpError(ErrorCode.InternalError, outgoing?.message ?? 'there is none now')
  return { uri, mimeType, text: textOf(outgoing) }
}
