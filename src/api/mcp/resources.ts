import {
  ErrorCode,
  McpError,
  type Resource,
  type TextResourceContents,
} from '@modelcontextprotocol/sdk/types.js'
import type { Call } from '#api/http/call.ts'
import { isRefusal } from '#domain/refusal.ts'
import { askRoutes } from '#route/ask-routes.ts'
import { textOf } from './call-tool.ts'
import type { McpDeps } from './mcp-deps.ts'

const META = '/api/meta'

const RESOURCES = [
  { name: META, title: 'Chains, tokens, metrics, limits and prices', mimeType: 'application/json' },
  { name: '/llms.txt', title: 'How to use the service', mimeType: 'text/plain' },
  { name: '/openapi.json', title: 'The OpenAPI document', mimeType: 'application/json' },
] as const

export function listResources({ publicBaseUrl }: Pick<McpDeps, 'publicBaseUrl'>): Resource[] {
  return RESOURCES.map((each) => ({ uri: `${publicBaseUrl}${each.name}`, ...each }))
}

export async function readResource(
  deps: McpDeps,
  message: Call,
  uri: string,
): Promise<TextResourceContents> {
  const path = uri.startsWith(deps.publicBaseUrl) ? uri.slice(deps.publicBaseUrl.length) : uri
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
