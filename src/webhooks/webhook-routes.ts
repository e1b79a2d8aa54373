import { randomUUID } from 'node:crypto'
import { lockSuccessor } from '#access/keys/key-store.ts'
import { writeOrRefuse } from '#access/keys/write-or-refuse.ts'
import { isRefusal, type Refusal, refuse } from '#domain/refusal.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import type { SigningKeys } from '#lib/signing-keys.ts'
import { type Clock, unixNow } from '#lib/time.ts'
import { named, Type } from '#lib/type.ts'
import { answer, defineRoute, type Route } from '#route/route.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { finalityParameter, KINDS } from '#stream/stream-parameters.ts'
import type { KeyedCaller } from './charge-events.ts'
import { deadLettersRoute, resendRoute } from './dead-letter-routes.ts'
import { countEvents } from './event-store.ts'
import { keyOf, ownWebhook, ownWebhooks, webhookIdInPath } from './own-webhook.ts'
import { newChallenge } from './settle-events.ts'
import { webhookKeyOf } from './sign-event.ts'
import { WEBHOOKS_PER_KEY_MAX, type Webhook } from './webhook.ts'
import { parseFilter } from './webhook-filter.ts'
import { toWebhookRecord, WebhookRecord } from './webhook-record.ts'
import { changeWebhook, insertWebhook, lockWebhooks } from './webhook-store.ts'
import { parseWebhookUrl, URL_LENGTH_MAX } from './webhook-url.ts'

export interface WebhooksDeps {
  readonly engine: Engine
  readonly ecosystem: Ecosystem
  readonly clock: Clock
  readonly keys: SigningKeys
  readonly allowPrivate: boolean
}

/** Never counted: events cost, not their administration. */
export function webhookRoutes(deps: WebhooksDeps): readonly Route[] {
  return [
    registerRoute(deps),
    listRoute(deps),
    showRoute(deps),
    challengeRoute(deps),
    deleteRoute(deps),
    deadLettersRoute(deps),
    resendRoute(deps),
  ]
}

const NO_STORE = { headers: { 'Cache-Control': 'no-store' } }

const FACTS = { tag: 'Webhooks', metered: false } as const

const publicKey = Type.String({
  description:
    'Verifies signatures, as libraries of Standard Webhooks take it; also at /.well-known/jwks.json.',
})

const OneWebhook = named('OneWebhook', { webhook: WebhookRecord, publicKey })
const WebhookList = named('WebhookList', { webhooks: Type.Array(WebhookRecord), publicKey })

const RegisterBody = Type.Object(
  {
    url: Type.String({ maxLength: URL_LENGTH_MAX, description: 'An https URL on a public host.' }),
    description: Type.Optional(Type.String({ maxLength: 200 })),
    filter: Type.Optional(
      Type.Object(
        {
          kind: Type.Optional(Type.Enum([...KINDS, 'all'])),
          token: Type.Optional(Type.String({ description: 'A symbol or an address.' })),
          chain: Type.Optional(Type.String()),
          address: Type.Optional(Type.String({ description: 'Only events of this wallet.' })),
          finality: Type.Optional(finalityParameter.schema),
        },
        { additionalProperties: false, description: 'As the parameters of /api/stream.' },
      ),
    ),
  },
  { additionalProperties: false },
)

function registerRoute(deps: WebhooksDeps): Route {
  return defineRoute({
    ...FACTS,
    method: 'POST',
    path: '/api/webhooks',
    operationId: 'registerWebhook',
    summary: 'Register a webhook',
    description:
      'Events of /api/stream are sent to the URL, signed as Standard Webhooks (`v1a`, ed25519), once it has proven that it wants them: it gets one `webhook.challenge` at once, and must answer 2xx with `{"challenge": …}` of its data. Each event costs one call of the key, on its first 2xx; it is tried for a day and then becomes a dead letter. Ten for each key.',
    guard: 'claim',
    parameters: {},
    body: RegisterBody,
    answers: { 202: { description: 'Registered; the challenge follows.', schema: OneWebhook } },
    refusals: ['webhook_limit_reached', 'key_not_allowed', 'key_revoked'],
    async handle({ caller, body }) {
      const key = keyOf(caller)
      if (isRefusal(key)) return key
      if (key.limits?.endpoints?.includes('/api/stream') === false)
        return refuse('key_not_allowed', 'this key is limited to endpoints without /api/stream')
      const url = parseWebhookUrl(body.url, deps)
      if (typeof url === 'string') return refuseUrl(url)
      const filter = parseFilter(deps.ecosystem, body.filter ?? {})
      if (isRefusal(filter)) return filter
      const webhook = {
        id: randomUUID(),
        url: url.href,
        description: body.description ?? null,
        filter: JSON.stringify(filter.effective),
        challenge: newChallenge(),
        createdUnix: unixNow(deps.clock),
        nowMs: deps.clock(),
      }
      const made = await writeOrRefuse(deps.engine, async (connection) => {
        // Two requests at once are counted one after the other.
        const publicId = await lockSuccessor(connection, key.publicId)
        if (publicId !== key.publicId) return refuse('key_revoked', 'this key was replaced')
        const own = await ownWebhooks(connection, key)
        if (own.length >= WEBHOOKS_PER_KEY_MAX) return refuseEleventh()
        await insertWebhook(connection, { ...webhook, publicId })
        return ownWebhook(connection, key, webhook.id)
      })
      return isRefusal(made) ? made : answer(202, showOne(deps, made), NO_STORE)
    },
  })
}

function refuseUrl(reason: string): Refusal {
  return refuse('invalid_body', `url ${reason}`, { errors: [{ in: 'body', name: 'url', reason }] })
}

function refuseEleventh(): Refusal {
  return refuse(
    'webhook_limit_reached',
    `this key has ${WEBHOOKS_PER_KEY_MAX} webhooks, the maximum; delete one`,
  )
}

function showOne(
  { keys }: WebhooksDeps,
  webhook: Webhook,
  counts?: Parameters<typeof toWebhookRecord>[1],
) {
  return { webhook: toWebhookRecord(webhook, counts), publicKey: webhookKeyOf(keys) }
}

function listRoute(deps: WebhooksDeps): Route {
  return defineRoute({
    ...FACTS,
    method: 'GET',
    path: '/api/webhooks',
    operationId: 'listWebhooks',
    summary: 'The webhooks of a key',
    description: 'Those of the key in the Authorization header and of keys that it replaced.',
    parameters: {},
    answers: { 200: { description: 'Oldest first.', schema: WebhookList } },
    refusals: [],
    async handle({ caller }) {
      const key = keyOf(caller)
      if (isRefusal(key)) return key
      const webhooks = await deps.engine.snapshot(async (reads) => {
        const own = await ownWebhooks(reads, key)
        const counts = await countEvents(
          reads,
          own.map(({ id }) => id),
        )
        return own.map((each) => toWebhookRecord(each, counts.get(each.id)))
      })
      return answer(200, { webhooks, publicKey: webhookKeyOf(deps.keys) }, NO_STORE)
    },
  })
}

function showRoute(deps: WebhooksDeps): Route {
  return defineRoute({
    ...FACTS,
    method: 'GET',
    path: '/api/webhooks/{webhookId}',
    operationId: 'getWebhook',
    summary: 'A webhook and how it does',
    description: 'Its state, what waits, the last answer of its URL and when it is tried again.',
    parameters: { webhookId: webhookIdInPath },
    answers: { 200: { description: 'The webhook.', schema: OneWebhook } },
    refusals: ['webhook_not_found'],
    async handle({ caller, parameters: { webhookId } }) {
      const key = keyOf(caller)
      if (isRefusal(key)) return key
      const found = await deps.engine.snapshot(async (reads) => {
        const own = await ownWebhook(reads, key, webhookId)
        if (isRefusal(own)) return own
        return { own, counts: (await countEvents(reads, [webhookId])).get(webhookId) }
      })
      if ('kind' in found) return found
      return answer(200, showOne(deps, found.own, found.counts), NO_STORE)
    },
  })
}

function challengeRoute(deps: WebhooksDeps): Route {
  return defineRoute({
    ...FACTS,
    method: 'POST',
    path: '/api/webhooks/{webhookId}/challenge',
    operationId: 'challengeWebhook',
    summary: 'Challenge a webhook again',
    description:
      'For a webhook that did not echo its challenge, or was disabled. It starts at the events of then; an active one stays as it is.',
    guard: 'claim',
    parameters: { webhookId: webhookIdInPath },
    answers: { 202: { description: 'The challenge follows.', schema: OneWebhook } },
    refusals: ['webhook_not_found'],
    handle: ({ caller, parameters: { webhookId } }) =>
      change(deps, { key: keyOf(caller), webhookId, status: 202 }, (webhook) =>
        webhook.state === 'active'
          ? {}
          : { state: 'verifying', challenge: newChallenge(), dueMs: deps.clock() },
      ),
  })
}

function deleteRoute(deps: WebhooksDeps): Route {
  return defineRoute({
    ...FACTS,
    method: 'POST',
    path: '/api/webhooks/{webhookId}/delete',
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook',
    description:
      'With what waits and its dead letters. An event that is being sent may still come.',
    parameters: { webhookId: webhookIdInPath },
    answers: { 200: { description: 'The webhook as it was.', schema: OneWebhook } },
    refusals: ['webhook_not_found'],
    handle: ({ caller, parameters: { webhookId } }) =>
      change(deps, { key: keyOf(caller), webhookId, status: 200 }, () => ({
        state: 'ended',
        dueMs: deps.clock(),
      })),
  })
}

/** What the deliverer sees when it looks next. */
async function change(
  deps: WebhooksDeps,
  input: {
    readonly key: KeyedCaller | Refusal
    readonly webhookId: string
    readonly status: 200 | 202
  },
  next: (webhook: Webhook) => Parameters<typeof changeWebhook>[2],
) {
  const { key, webhookId, status } = input
  if (isRefusal(key)) return key
  const changed = await writeOrRefuse(deps.engine, async (connection: Connection) => {
    const own = await ownWebhook(connection, key, webhookId)
    if (isRefusal(own)) return own
    const locked = (await lockWebhooks(connection, [webhookId])).get(webhookId) ?? own
    const changes = locked.state === 'ended' ? {} : next(locked)
    await changeWebhook(connection, locked, changes)
    const { state = locked.state } = changes
    return { ...locked, ...changes, state: state === 'ended' ? locked.state : state }
  })
  return isRefusal(changed) ? changed : answer(status, showOne(deps, changed), NO_STORE)
}
