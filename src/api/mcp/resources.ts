import {
  ErrorCode,
  McpError,
  type Resource,
  type TextResourceContents,
} from '@modelcontextprotocol/sdk/types.js'
import { isRefusal } from '#domain/refusal.ts'
import type { Incoming } from '#http/exchange.ts'
import { askRoutes } from '#route/ask-routes.ts'
import type { McpDeps } from './mcp-deps.ts'

const DOCUMENTS = [
  {
    path: '/llms.txt',
    title: 'How to use the service',
    mimeType: 'text/plain',
  },
  {
    path: '/openapi.json',
    title: 'The OpenAPI document',
    mimeType: 'application/json',
  },
] as const

const META = {
  path: '/api/meta',
  title: 'Chains, tokens, metrics, limits and prices',
  mimeType: 'application/json',
} as const

export function listResources({ publicBaseUrl }: Pick<McpDeps, 'publicBaseUrl'>): Resource[] {
  return [META, ...DOCUMENTS].map(({ path, title, mimeType }) => ({
    uri: `${publicBaseUrl}${path}`,
    name: path,
    title,
    mimeType,
  }))
}

export async function readResource(
  deps: McpDeps,
  incoming: Incoming,
  uri: string,
): Promise<TextResourceContents> {
  const path = uri.startsWith(deps.publicBaseUrl) ? uri.slice(deps.publicBaseUrl.length) : uri
  if (path === META.path) {
    const found = await askRoutes(deps.routes)('getMeta')
    return { uri, mimeType: META.mimeType, text: JSON.stringify(found) }
  }
  const document = DOCUMENTS.find((each) => each.path === path)
  const page = deps.pages.find((each) => each.path === document?.path)
  if (document === undefined || page === undefined)
    throw new McpError(
      ErrorCode.InvalidParams,
      `unknown resource "${uri}"; resources/list names them`,
    )
  const outgoing = await page.read({ ...incoming, headers: {} })
  if (isRefusal(outgoing)) throw new McpError(ErrorCode.InternalError, outgoing.message)
  const { body } = outgoing
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8')
  return { uri, mimeType: document.mimeType, text }
}
