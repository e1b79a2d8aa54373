import { randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import { lockSuccessor, rotationsOf, writeOrRefuse } from '#accounts/keys/key-store.ts'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { showCursor } from '#chains/indexer/feed/cursor.ts'
import { readEnd } from '#chains/indexer/feed/read-feed.ts'
import { finalOnAllChains } from '#chains/indexer/feed/write-feed.ts'
import type { Caller } from '#domain/caller.ts'
import { isRefusal, type Refusal, refuse } from '#domain/refusal.ts'
import { named } from '#lib/schema.ts'
import { type Clock, unixNow } from '#lib/time.ts'
import { answer, defineRoute, type Parameter, parsed, type Route } from '#route/route.ts'
import { filterParameters } from '#serving/stream/stream-parameters.ts'
import { newSecret } from '#serving/webhooks/post-event.ts'
import { listWebhooks } from '#serving/webhooks/webhook-store.ts'
import type { Connection, Engine } from '#store/engine.ts'
import type { KeyedCaller } from './charge-event.ts'
import { WEBHOOKS_PER_WALLET_MAX, type Webhook } from './webhook.ts'
import { parseFilter } from './webhook-filter.ts'
import { OneWebhook, toWebhookRecord, WebhookRecord, WebhookWithSecret } from './webhook-record.ts'
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
  readonly register: Engine
  readonly allowPrivate: boolean
}

/** These routes are never counted: events cost, not their administration. */
export function webhookRoutes(deps: WebhooksDeps): readonly Route[] {
  return [
    registerRoute(deps),
    listRoute(deps),
    showRoute(deps),
    enableRoute(deps),
    deleteRoute(deps),
    rotateRoute(deps),
  ]
}

const NO_STORE = { headers: { 'Cache-Control': 'no-store' } }

const FACTS = { tag: 'Webhooks', metered: false } as const

const WebhookList = named('WebhookList', { webhooks: Type.Array(WebhookRecord) })

function registerBody(ecosystem: Ecosystem) {
  const filter = Object.entries(filterParameters(ecosystem)).map(
    ([name, { schema, description }]) => [name, Type.Optional({ ...schema, description })],
  )
  return Type.Object({
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
        description: 'As the parameters of /api/stream.',
      }),
    ),
  })
}

function registerRoute(deps: WebhooksDeps): Route {
  return defineRoute({
    ...FACTS,
    method: 'POST',
    path: '/api/webhooks',
    operationId: 'registerWebhook',
    summary: 'Register a webhook',
    description:
      'Events of /api/stream are sent to the URL, signed as Standard Webhooks (`v1`). Events come one after the other, in the order of the feed; each costs one call of the key, on its first 2xx. Twenty for each wallet. The secret is shown once.',
    guard: 'webhook',
    parameters: {},
    body: registerBody(deps.ecosystem),
    answers: {
      201: { description: 'Registered; events from now on follow.', schema: WebhookWithSecret },
    },
    refusals: ['webhook_limit_reached', 'key_revoked', 'data_not_ready'],
    async handle({ caller, body }) {
      const key = keyOf(caller)
      if (isRefusal(key)) return key
      const url = parseWebhookUrl(body.url, deps)
      if (typeof url === 'string')
        return refuse('invalid_body', `url ${url}`, {
          errors: [{ in: 'body', name: 'url', reason: url }],
        })
      const id = randomUUID()
      const filter = parseFilter(deps.ecosystem, body.filter ?? {})
      if (isRefusal(filter)) return filter
      const start = await deps.register.snapshot(readStart)
      if (start === undefined)
        return refuse('data_not_ready', 'no block is indexed yet; register again in a moment')
      const secret = newSecret()
      const webhook: Partial<Webhook> = {
        ...start,
        id,
        secret,
        url: url.href,
        description: body.description ?? null,
        filter: JSON.stringify(filter.effective),
        dailyCap: body.dailyCap ?? null,
        wallet: key.wallet,
        createdUnix: unixNow(deps.clock),
        state: 'active',
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
      return isRefusal(made)
        ? made
        : answer(201, { webhook: toWebhookRecord(made), secret }, NO_STORE)
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

function enableRoute(deps: WebhooksDeps): Route {
  return defineRoute({
    ...FACTS,
    method: 'POST',
    path: '/api/webhooks/{webhookId}/enable',
    operationId: 'enableWebhook',
    summary: 'Enable a webhook again',
    description:
      'For a webhook that was disabled or has ended. It goes on at its cursor; an active one stays as it is.',
    guard: 'webhook',
    parameters: { webhookId: webhookIdInPath },
    answers: { 200: { description: 'The webhook.', schema: OneWebhook } },
    refusals: ['webhook_not_found'],
    async handle({ caller, parameters: { webhookId } }) {
      const changed = await change(deps, { key: keyOf(caller), webhookId }, ({ state }) =>
        state === 'disabled' || state === 'ended'
          ? { state: 'active', reason: null, attempts: 0, failingUnix: null, dueMs: deps.clock() }
          : {},
      )
      if (isRefusal(changed)) return changed
      return answer(200, { webhook: toWebhookRecord(changed) }, NO_STORE)
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
    description: 'The new secret replaces the old one at once. It is shown once.',
    guard: 'webhook',
    parameters: { webhookId: webhookIdInPath },
    answers: { 200: { description: 'With the new secret.', schema: WebhookWithSecret } },
    refusals: ['webhook_not_found'],
    async handle({ caller, parameters: { webhookId } }) {
      const secret = newSecret()
      const changed = await change(deps, { key: keyOf(caller), webhookId }, () => ({ secret }))
      return isRefusal(changed)
        ? changed
        : answer(200, { webhook: toWebhookRecord(changed), secret }, NO_STORE)
    },
  })
}

/** The end of the feed, and up to when all before it is final, if known; undefined without a feed. */
async function readStart(
  connection: Connection,
): Promise<Pick<Webhook, 'cursor' | 'finalUnix'> | undefined> {
  const end = await readEnd(connection)
  if (end === undefined) return undefined
  return { cursor: showCursor(end), finalUnix: (await finalOnAllChains(connection)) || null }
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

const UUID = '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'

export const webhookIdInPath: Parameter<string> = {
  in: 'path',
  description: 'The `id` of a webhook.',
  schema: Type.String({ pattern: UUID }),
  example: '0d9b6f54-3c7e-4a52-9a0b-6f2f6f6d1c11',
  parse: (raw = '') =>
    new RegExp(UUID).test(raw) ? parsed(raw, raw) : { ok: false, reason: 'must be a UUID' },
}

/** Webhooks belong to a key. */
export function keyOf(caller: Caller): KeyedCaller | Refusal {
  if (caller.kind === 'keyed') return caller
  return refuse('invalid_api_key', 'send the key of the webhooks as Bearer')
}

/** Lists the webhooks of the key and of those that it replaced. */
export async function ownWebhooks(
  connection: Connection,
  { publicId }: KeyedCaller,
): Promise<readonly Webhook[]> {
  return listWebhooks(connection, await rotationsOf(connection, publicId))
}

export async function ownWebhook(
  connection: Connection,
  caller: KeyedCaller,
  id: string,
): Promise<Webhook | Refusal> {
  const own = (await ownWebhooks(connection, caller)).find((each) => each.id === id)
  return own ?? refuse('webhook_not_found', `this key has no webhook ${id}`)
}
