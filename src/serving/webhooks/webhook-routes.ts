import { randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import { AUTHORITY_REFUSALS } from '#callers/keys/authorise.ts'
import { lockSuccessor, useMessage } from '#callers/keys/key-store.ts'
import { checkSigned } from '#callers/keys/signed-message.ts'
import { writeOrRefuse } from '#callers/keys/write-or-refuse.ts'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { isRefusal, type Refusal, refuse } from '#domain/refusal.ts'
import { named } from '#lib/schema.ts'
import type { SigningKeys } from '#lib/signing-keys.ts'
import { type Clock, unixNow } from '#lib/time.ts'
import { answer, defineRoute, type Route } from '#route/route.ts'
import { filterParameters } from '#serving/stream/stream-parameters.ts'
import type { Engine } from '#store/engine.ts'
import { newChallenge } from './challenge.ts'
import type { KeyedCaller } from './charge-event.ts'
import { keyOf, ownWebhook, ownWebhooks, webhookIdInPath } from './own-webhook.ts'
import { mayBeChallenged, WEBHOOKS_PER_WALLET_MAX, type Webhook } from './webhook.ts'
import { parseFilter } from './webhook-filter.ts'
import {
  OneWebhook,
  toWebhookRecord,
  WebhookRecord,
  WebhookWithSecret,
  withSecret,
} from './webhook-record.ts'
import {
  changeWebhook,
  countOfWallet,
  insertWebhook,
  lockWebhook,
  removeWebhook,
} from './webhook-store.ts'
import { parseWebhookUrl, URL_LENGTH_MAX } from './webhook-url.ts'

export interface WebhooksDeps {
  readonly engine: Engine
  readonly ecosystem: Ecosystem
  readonly clock: Clock
  readonly keys: SigningKeys
  readonly allowPrivate: boolean
}

/** These routes are never counted: events cost, not their administration. */
export function webhookRoutes(deps: WebhooksDeps): readonly Route[] {
  return [
    registerRoute(deps),
    listRoute(deps),
    showRoute(deps),
    challengeRoute(deps),
    deleteRoute(deps),
    rotateRoute(deps),
    secretRoute(deps),
  ]
}

const NO_STORE = { headers: { 'Cache-Control': 'no-store' } }

const FACTS = { tag: 'Webhooks', metered: false } as const

const WebhookList = named('WebhookList', { webhooks: Type.Array(WebhookRecord) })

function registerBody(ecosystem: Ecosystem) {
  const filter = Object.entries(filterParameters(ecosystem)).map(
    ([name, { schema, description }]) => [name, Type.Optional({ ...schema, description })],
  )
  return Type.Object(
    {
      url: Type.String({
        maxLength: URL_LENGTH_MAX,
        description: 'An https URL on a public host.',
      }),
      description: Type.Optional(Type.String({ maxLength: 200 })),
      dailyCap: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          description: 'At most so many paid events a UTC day; the rest comes the next day.',
        }),
      ),
      filter: Type.Optional(
        Type.Object(Object.fromEntries(filter), {
          additionalProperties: false,
          description: 'As the parameters of /api/stream.',
        }),
      ),
    },
    { additionalProperties: false },
  )
}

function registerRoute(deps: WebhooksDeps): Route {
  return defineRoute({
    ...FACTS,
    method: 'POST',
    path: '/api/webhooks',
    operationId: 'registerWebhook',
    summary: 'Register a webhook',
    description:
      'Events of /api/stream are sent to the URL, signed as Standard Webhooks (`v1`), once it has proven that it wants them: it gets one `webhook.challenge` at once, and must answer 2xx with `{"challenge": …}` of its data. Events come one after the other, in the order of the feed; each costs one call of the key, on its first 2xx. Twenty for each wallet. The secret is shown once.',
    guard: 'webhook',
    parameters: {},
    body: registerBody(deps.ecosystem),
    answers: {
      202: { description: 'Registered; the challenge follows.', schema: WebhookWithSecret },
    },
    refusals: ['webhook_limit_reached', 'key_not_allowed', 'key_revoked'],
    async handle({ caller, body }) {
      const key = keyOf(caller)
      if (isRefusal(key)) return key
      if (key.limits?.endpoints?.includes('/api/stream') === false)
        return refuse('key_not_allowed', 'this key is limited to endpoints without /api/stream')
      const url = parseWebhookUrl(body.url, deps)
      if (typeof url === 'string')
        return refuse('invalid_body', `url ${url}`, {
          errors: [{ in: 'body', name: 'url', reason: url }],
        })
      const id = randomUUID()
      const filter = parseFilter(deps.ecosystem, body.filter ?? {})
      if (isRefusal(filter)) return filter
      const webhook: Partial<Webhook> = {
        id,
        url: url.href,
        description: body.description ?? null,
        filter: JSON.stringify(filter.effective),
        challenge: newChallenge(),
        dailyCap: body.dailyCap ?? null,
        wallet: key.wallet,
        createdUnix: unixNow(deps.clock),
        state: 'unverified',
        dueMs: deps.clock(),
      }
      const made = await writeOrRefuse(deps.engine, async (connection) => {
        const publicId = await lockSuccessor(connection, key.publicId)
        if (publicId !== key.publicId) return refuse('key_revoked', 'this key was replaced')
        if ((await countOfWallet(connection, key.wallet)) >= WEBHOOKS_PER_WALLET_MAX)
          return refuse(
            'webhook_limit_reached',
            `this wallet has ${WEBHOOKS_PER_WALLET_MAX} webhooks, the maximum; delete one`,
          )
        await insertWebhook(connection, { ...webhook, publicId })
        return ownWebhook(connection, key, id)
      })
      return isRefusal(made) ? made : answer(202, withSecret(deps.keys, made), NO_STORE)
    },
  })
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
      const own = await deps.engine.snapshot((reads) => ownWebhooks(reads, key))
      return answer(200, { webhooks: own.map(toWebhookRecord) }, NO_STORE)
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
    description: 'Its state and cursor, the last answer of its URL and when it is tried again.',
    parameters: { webhookId: webhookIdInPath },
    answers: { 200: { description: 'The webhook.', schema: OneWebhook } },
    refusals: ['webhook_not_found'],
    async handle({ caller, parameters: { webhookId } }) {
      const key = keyOf(caller)
      if (isRefusal(key)) return key
      const found = await deps.engine.snapshot((reads) => ownWebhook(reads, key, webhookId))
      return isRefusal(found) ? found : answer(200, { webhook: toWebhookRecord(found) }, NO_STORE)
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
      'For a webhook that did not echo its challenge, was disabled or has ended. It goes on at its cursor; an active one stays as it is.',
    guard: 'webhook',
    parameters: { webhookId: webhookIdInPath },
    answers: { 202: { description: 'The challenge follows.', schema: OneWebhook } },
    refusals: ['webhook_not_found'],
    async handle({ caller, parameters: { webhookId } }) {
      const changed = await change(deps, { key: keyOf(caller), webhookId }, (webhook) =>
        mayBeChallenged(webhook) ? { challenge: newChallenge(), dueMs: deps.clock() } : {},
      )
      if (isRefusal(changed)) return changed
      return answer(202, { webhook: toWebhookRecord(changed) }, NO_STORE)
    },
  })
}

function deleteRoute(deps: WebhooksDeps): Route {
  return defineRoute({
    ...FACTS,
    method: 'POST',
    path: '/api/webhooks/{webhookId}/delete',
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook',
    description: 'An event that is being sent may still come, uncharged.',
    parameters: { webhookId: webhookIdInPath },
    answers: { 200: { description: 'The webhook as it was.', schema: OneWebhook } },
    refusals: ['webhook_not_found'],
    async handle({ caller, parameters: { webhookId } }) {
      const key = keyOf(caller)
      if (isRefusal(key)) return key
      const own = await writeOrRefuse(deps.engine, async (connection) => {
        const found = await ownWebhook(connection, key, webhookId)
        if (!isRefusal(found)) await removeWebhook(connection, webhookId)
        return found
      })
      return isRefusal(own) ? own : answer(200, { webhook: toWebhookRecord(own) }, NO_STORE)
    },
  })
}

function rotateRoute(deps: WebhooksDeps): Route {
  return defineRoute({
    ...FACTS,
    method: 'POST',
    path: '/api/webhooks/{webhookId}/rotate',
    operationId: 'rotateWebhookSecret',
    summary: 'Rotate the secret of a webhook',
    description: 'Events are signed with both secrets for 24 hours. The new one is shown once.',
    guard: 'webhook',
    parameters: { webhookId: webhookIdInPath },
    answers: { 200: { description: 'With the new secret.', schema: WebhookWithSecret } },
    refusals: ['webhook_not_found'],
    async handle({ caller, parameters: { webhookId } }) {
      const rotatedUnix = unixNow(deps.clock)
      const changed = await change(deps, { key: keyOf(caller), webhookId }, ({ version }) => ({
        version: version + 1,
        rotatedUnix,
      }))
      return isRefusal(changed) ? changed : answer(200, withSecret(deps.keys, changed), NO_STORE)
    },
  })
}

const ProofBody = Type.Object(
  {
    ownerAddress: Type.String(),
    signature: Type.String(),
    message: Type.String({
      description: 'Of `GET /api/keys/message?action=webhook-secret`, for the key of the webhook.',
    }),
  },
  { additionalProperties: false },
)

function secretRoute(deps: WebhooksDeps): Route {
  return defineRoute({
    ...FACTS,
    method: 'POST',
    path: '/api/webhooks/{webhookId}/secret',
    operationId: 'showWebhookSecret',
    summary: 'Show the secret of a webhook again',
    description: 'The wallet that owns the key signs for it; the key alone does not show it.',
    guard: 'webhook',
    parameters: { webhookId: webhookIdInPath },
    body: ProofBody,
    answers: { 200: { description: 'With its secret.', schema: WebhookWithSecret } },
    refusals: ['webhook_not_found', ...AUTHORITY_REFUSALS],
    async handle({ caller, body, parameters: { webhookId } }) {
      const key = keyOf(caller)
      if (isRefusal(key)) return key
      const action = 'webhook-secret'
      const { clock, ecosystem, engine, keys } = deps
      const about = { clock, serviceName: ecosystem.service.name }
      const signed = checkSigned(about, body, { action, freshness: 'required' })
      if (isRefusal(signed)) return signed
      if (signed.values.key !== key.publicId)
        return refuse('message_wrong_action', 'the message is for another key than the request')
      if (signed.wallet !== key.wallet)
        return refuse('not_key_owner', 'this key belongs to another wallet')
      const own = await writeOrRefuse(engine, async (connection) => {
        const used = await useMessage(connection, { action, signed, nowUnix: unixNow(clock) })
        return used ?? ownWebhook(connection, key, webhookId)
      })
      return isRefusal(own) ? own : answer(200, withSecret(keys, own), NO_STORE)
    },
  })
}

async function change(
  deps: WebhooksDeps,
  input: { readonly key: KeyedCaller | Refusal; readonly webhookId: string },
  next: (webhook: Webhook) => Partial<Webhook>,
): Promise<Webhook | Refusal> {
  const { key, webhookId } = input
  if (isRefusal(key)) return key
  return writeOrRefuse(deps.engine, async (connection) => {
    const own = await ownWebhook(connection, key, webhookId)
    if (isRefusal(own)) return own
    const locked = (await lockWebhook(connection, webhookId)) ?? own
    const changes = next(locked)
    if (Object.keys(changes).length > 0) await changeWebhook(connection, locked, changes)
    return { ...locked, ...changes }
  })
}
