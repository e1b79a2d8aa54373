import { writeOrRefuse } from '#access/keys/write-or-refuse.ts'
import { limitParameter } from '#datasets/parameters.ts'
import { isRefusal, refuse } from '#domain/refusal.ts'
import type { Clock } from '#lib/time.ts'
import { named, Type } from '#lib/type.ts'
import { type Parameter, parsed } from '#route/parameter.ts'
import { answer, defineRoute, type Route } from '#route/route.ts'
import type { Engine } from '#store/engine.ts'
import { deadEvents, reviveEvents } from './event-store.ts'
import { keyOf, ownWebhook, webhookIdInPath } from './own-webhook.ts'
import { DeadLetter, toDeadLetter } from './webhook-record.ts'
import { lockWebhooks } from './webhook-store.ts'

interface DeadLetterDeps {
  readonly engine: Engine
  readonly clock: Clock
}

const NO_STORE = { headers: { 'Cache-Control': 'no-store' } }

const cursorParameter: Parameter<number> = {
  in: 'query',
  description: '`nextCursor` of the page before.',
  schema: Type.String({ pattern: '^[1-9][0-9]{0,14}$' }),
  parse(raw) {
    if (raw === undefined) return parsed(Number.MAX_SAFE_INTEGER, null)
    return /^[1-9][0-9]{0,14}$/.test(raw)
      ? parsed(Number(raw), raw)
      : { ok: false, code: 'invalid_cursor', reason: 'is not a cursor of this list' }
  },
}

const DeadLetterList = named('DeadLetterList', {
  deadLetters: Type.Array(DeadLetter),
  nextCursor: Type.Union([Type.String(), Type.Null()]),
})

export function deadLettersRoute({ engine }: DeadLetterDeps): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/webhooks/{webhookId}/dead-letters',
    operationId: 'listDeadLetters',
    tag: 'Webhooks',
    summary: 'Events that were given up',
    description:
      'Not delivered, or not paid for, within a day; they cost nothing. The newest 1,000 are kept for 30 days.',
    metered: false,
    parameters: { webhookId: webhookIdInPath, limit: limitParameter(20), cursor: cursorParameter },
    answers: { 200: { description: 'Newest first.', schema: DeadLetterList } },
    refusals: ['webhook_not_found', 'invalid_cursor'],
    async handle({ caller, parameters: { webhookId, limit, cursor: before } }) {
      const key = keyOf(caller)
      if (isRefusal(key)) return key
      const found = await engine.snapshot(async (reads) => {
        const own = await ownWebhook(reads, key, webhookId)
        return isRefusal(own) ? own : deadEvents(reads, { webhookId, before, limit: limit + 1 })
      })
      if (isRefusal(found)) return found
      const page = found.slice(0, limit)
      const nextCursor = found.length > limit ? String(page.at(-1)?.place) : null
      return answer(200, { deadLetters: page.map(toDeadLetter), nextCursor }, NO_STORE)
    },
  })
}

const Resent = named('ResentEvents', { eventIds: Type.Array(Type.String()) })

export function resendRoute({ engine, clock }: DeadLetterDeps): Route {
  return defineRoute({
    method: 'POST',
    path: '/api/webhooks/{webhookId}/resend',
    operationId: 'resendDeadLetters',
    tag: 'Webhooks',
    summary: 'Send dead letters again',
    description:
      'After all that waits, in their order and with the same `webhook-id`. They are tried for a day and cost one call each on their first 2xx.',
    metered: false,
    guard: 'claim',
    parameters: { webhookId: webhookIdInPath },
    body: Type.Object(
      {
        eventIds: Type.Optional(
          Type.Array(Type.String({ maxLength: 80 }), {
            maxItems: 100,
            description: 'All if left out.',
          }),
        ),
      },
      { additionalProperties: false },
    ),
    answers: { 202: { description: 'What is sent again.', schema: Resent } },
    refusals: ['webhook_not_found', 'webhook_not_active'],
    async handle({ caller, parameters: { webhookId }, body }) {
      const key = keyOf(caller)
      if (isRefusal(key)) return key
      const resent = await writeOrRefuse(engine, async (connection) => {
        const own = await ownWebhook(connection, key, webhookId)
        if (isRefusal(own)) return own
        const webhook = (await lockWebhooks(connection, [webhookId])).get(webhookId)
        if (webhook?.state !== 'active')
          return refuse('webhook_not_active', 'the webhook is not active; challenge it first')
        const ids = await reviveEvents(connection, webhook, { ids: body.eventIds, nowMs: clock() })
        return { ids }
      })
      return 'kind' in resent ? resent : answer(202, { eventIds: resent.ids }, NO_STORE)
    },
  })
}
