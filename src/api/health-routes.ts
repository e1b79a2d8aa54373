import { Type } from 'typebox'
import { refuse } from '#domain/refusal.ts'
import { mapOf, named } from '#lib/schema.ts'
import { answer, defineRoute, type Route } from '#route/route.ts'

export interface Readiness {
  readonly ready: boolean
  readonly parts: Readonly<Record<string, string>>
}

export interface HealthDeps {
  readiness(): Promise<Readiness>
}

const facts = { method: 'GET', tag: 'Service', metered: false, open: true, parameters: {} } as const

/** GET /healthz checks the process, GET /readyz its stores and index too. */
export function healthRoutes(deps: HealthDeps): readonly Route[] {
  return [
    defineRoute({
      ...facts,
      path: '/healthz',
      operationId: 'getHealth',
      summary: 'Whether the process is alive',
      description: 'Answers 200 while the process runs. Never metered.',
      answers: {
        200: { description: 'Alive', schema: named('Health', { status: Type.Literal('ok') }) },
      },
      refusals: [],
      handle: async () => answer(200, { status: 'ok' }),
    }),
    defineRoute({
      ...facts,
      path: '/readyz',
      operationId: 'getReadiness',
      summary: 'Whether data calls can be answered',
      description:
        'Answers 503 while a store is unreachable, the index has no data yet, or figures are known to be wrong; `parts` says which.',
      answers: {
        200: {
          description: 'Ready',
          schema: named('Readiness', {
            status: Type.Literal('ready'),
            parts: mapOf(Type.String()),
          }),
        },
      },
      refusals: ['data_not_ready'],
      async handle() {
        const { ready, parts } = await deps.readiness()
        if (ready) return answer(200, { status: 'ready', parts })
        return refuse('data_not_ready', 'some parts are not ready; `parts` says which', {
          members: { parts },
        })
      },
    }),
  ]
}
