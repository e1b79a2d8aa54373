import type { Tool } from '@modelcontextprotocol/sdk/types.js'
import { typed } from '#api/openapi.ts'
import type { Context } from '#context.ts'
import type { Route } from '#route/route.ts'
import { factsOf } from '../service-facts.ts'

export function isTool({ method, metered, stream, operationId }: Route): boolean {
  return method === 'GET' && !stream && (metered || operationId === 'getUsage')
}

export function toolParameters({ parameters }: Pick<Route, 'parameters'>) {
  return Object.entries(parameters).filter(([name]) => name !== 'format')
}

/** Leaves out the schema of answers, which the resource /openapi.json has. */
export function describeTool(ctx: Context, route: Route): Tool {
  const parameters = toolParameters(route)
  return {
    name: route.operationId,
    title: route.summary,
    description: `${route.summary}. ${costOf(ctx, route)}`,
    annotations: { readOnlyHint: true },
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries(
        parameters.map(([name, { schema: own, description }]) => [
          name,
          typed({ ...own, description }),
        ]),
      ),
      required: parameters.flatMap(([name, each]) => (each.in === 'path' ? [name] : [])),
      additionalProperties: false,
    },
  }
}

function costOf(ctx: Context, { metered }: Route): string {
  const { payment, pricePerCallUsd } = factsOf(ctx)
  if (!metered) return 'Cost: free.'
  const beyond =
    payment === null
      ? 'Beyond the daily quota it is refused until 00:00 UTC.'
      : `Beyond the daily quota it costs ${pricePerCallUsd} USD from the prepaid balance, which x402 tops up.`
  return `Cost: one call of the daily quota; errors are free. ${beyond}`
}
