import { Type } from 'typebox'
import { type Page, PLAIN_HEADERS, plainPage, toTable } from '#api/pages.ts'
import { refuse } from '#base/refusal.ts'
import { named, recordOf } from '#base/schema.ts'
import { escapeMarkup } from '#base/text.ts'
import { answer, defineRoute, JSON_TYPE, type Route, wantsPage } from '#route.ts'

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
            parts: recordOf(Type.String()),
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

/** GET /status: what `/readyz` says, always with 200 and for browsers as a page. */
export function statusPage({ readiness }: HealthDeps, name: string): Page {
  return {
    path: '/status',
    async read({ headers: { accept } }) {
      const { ready, parts } = await readiness()
      const headers = { 'Content-Type': JSON_TYPE, 'Cache-Control': 'no-store' }
      if (!wantsPage(accept))
        return { status: 200, headers, body: JSON.stringify({ ready, parts }) }
      const title = ready ? 'Data is served' : 'Some data cannot be served right now'
      const content = `<h1>${title}</h1>
<p>Chains with their last block, nodes and jobs of ${escapeMarkup(name)}, as of now. Programs get the same as JSON, and <a href="/readyz">/readyz</a> answers 503 when data cannot be served.</p>
${toTable(Object.entries(parts))}`
      const body = plainPage(title, content)
      return { status: 200, headers: { ...headers, ...PLAIN_HEADERS }, body }
    },
  }
}
