import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import {
  CallToolRequestSchema,
  ErrorCode,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { type Refusal, refuse } from '#domain/refusal.ts'
import type { Incoming, Outgoing } from '#http/exchange.ts'
import { BROKEN_BODY } from '#http/json-body.ts'
import { callTool } from './call-tool.ts'
import { describeTool, isTool } from './describe-tool.ts'
import type { McpDeps } from './mcp-deps.ts'
import { listResources, readResource } from './resources.ts'

const INSTRUCTIONS =
  'Figures of a token ecosystem, read from its chains. Every answer says at which block it stands. Data tools cost one call each, free until the daily quota is used up; getUsage says what is left, for free.'

/**
 * One message of MCP's streamable HTTP transport. Stateless: a server for each request, so that any
 * replica can answer the next.
 */
export async function answerMcp(deps: McpDeps, incoming: Incoming): Promise<Outgoing | Refusal> {
  // A batch of a few kilobytes would ask for megabytes; MCP dropped batches in 2025-06-18.
  if (Array.isArray(incoming.body)) return refuse('invalid_body', 'send one message per request')
  const transport = new WebStandardStreamableHTTPServerTransport({
    enableJsonResponse: true,
    // Pages of other sites must not reach a server that only the victim's network can.
    enableDnsRebindingProtection: true,
    allowedOrigins: [new URL(deps.publicBaseUrl).origin],
  })
  const server = createServer(deps, incoming)
  await server.connect(transport)
  try {
    const response = await transport.handleRequest(toRequest(deps, incoming), {
      // Undefined would make it read a body that is not there.
      parsedBody: incoming.body === BROKEN_BODY ? null : (incoming.body ?? null),
    })
    const headers = ['Cache-Control', 'no-store']
    const type = response.headers.get('content-type')
    if (type !== null) headers.push('Content-Type', type)
    return { status: response.status, headers, body: await response.text() }
  } finally {
    await server.close()
  }
}

function toRequest({ publicBaseUrl }: McpDeps, { headers }: Incoming): Request {
  const names = ['accept', 'content-type', 'origin', 'mcp-protocol-version'] as const
  const given = names.flatMap((name) => {
    const value = headers[name]
    return value === undefined ? [] : [[name, String(value)] as [string, string]]
  })
  return new Request(`${publicBaseUrl}/mcp`, { method: 'POST', headers: given })
}

function createServer(deps: McpDeps, incoming: Incoming): Server {
  const { name, version } = deps.facts
  const server = new Server(
    { name, version },
    { capabilities: { tools: {}, resources: {} }, instructions: INSTRUCTIONS },
  )
  const tools = deps.routes.filter(isTool)
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: tools.map((route) => describeTool(route, deps.facts)),
  }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
    const route = tools.find(({ operationId }) => operationId === params.name)
    if (route === undefined)
      throw new McpError(
        ErrorCode.InvalidParams,
        `unknown tool "${params.name}"; tools/list names them`,
      )
    return callTool(deps, incoming, {
      route,
      values: params.arguments ?? {},
      payment: params._meta?.['x402/payment'],
    })
  })
  server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: listResources(deps) }))
  server.setRequestHandler(ReadResourceRequestSchema, async ({ params }) => ({
    contents: [await readResource(deps, incoming, params.uri)],
  }))
  return server
}
