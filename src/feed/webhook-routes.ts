import { randomBytes, randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import { listRotations, lockSuccessor, writeOrRefuse } from '#accounts/keys/key-store.ts'
import type { KeyedCaller } from '#accounts/metering/callers.ts'
import type { Caller } from '#base/caller.ts'
import { isRefusal, type Refusal, refuse } from '#base/refusal.ts'
import { named, recordOf } from '#base/schema.ts'
import { toIso, unixNow } from '#base/time.ts'
import type { Context } from '#context.ts'
import type { Connection } from '#db/engine.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { type Filter, filterParameters } from '#feed/stream-parameters.ts'
import { readEnd, showCursor } from '#index/feed.ts'
import {
  answer,
  defineRoute,
  type Effective,
  type Parameter,
  parsed,
  parseParameters,
  type Route,
  type ValuesOf,
} from '#route.ts'
import { parseWebhookUrl, URL_LENGTH_MAX } from './post-event.ts'
import {
  AT_ONCE,
  changeWebhook,
  countOfWallet,
  insertWebhook,
  listWebhooks,
  removeWebhooks,
  type Webhook,
} from './webhook-store.ts'

/** Unmetered: events cost, managing webhooks does not. */
export function webhookRoutes(ctx: Context): readonly Route[] {
  return [
    registerRoute(ctx),
    listRoute(ctx),
    ownRoute(ctx, {
      method: 'GET',
      path: '/api/webhooks/{webhookId}',
      operationId: 'getWebhook',
      summary: 'A webhook and how it does',
      description: 'Its state and cursor, the last answer of its URL and when it is tried again.',
      answers: { 200: { description: 'The webhook.', schema: OneWebhook } },
      work: async (_, own) => ({ webhook: toRecord(own) }),
    }),
    ownRoute(ctx, {
      method: 'POST',
      guard: 'webhook',
      path: '/api/webhooks/{webhookId}/enable',
      operationId: 'enableWebhook',
      summary: 'Enable a webhook again',
      description: 'It goes on at its cursor, at once: also one that waits for its next attempt.',
      answers: { 200: { description: 'The webhook.', schema: OneWebhook } },
      work: async (tx, own) => ({ webhook: toRecord(await changed(tx, own, RESUMED)) }),
    }),
    ownRoute(ctx, {
      method: 'POST',
      path: '/api/webhooks/{webhookId}/delete',
      operationId: 'deleteWebhook',
      summary: 'Delete a webhook',
      description: 'An event that is being sent may still come, uncharged.',
      answers: { 200: { description: 'The webhook as it was.', schema: OneWebhook } },
      async work(tx, own) {
        await removeWebhooks(tx, [own.id])
        return { webhook: toRecord(own) }
      },
    }),
    ownRoute(ctx, {
      method: 'POST',
      guard: 'webhook',
      path: '/api/webhooks/{webhookId}/rotate',
      operationId: 'rotateWebhookSecret',
      summary: 'Rotate the secret of a webhook',
      description: 'The new secret replaces the old one at once. It is shown once.',
      answers: { 200: { description: 'With the new secret.', schema: WebhookWithSecret } },
      async work(tx, own) {
        const secret = newSecret()
        return { webhook: toRecord(await changed(tx, own, { secret })), secret }
      },
    }),
  ]
}

const NO_STORE = { headers: { 'Cache-Control': 'no-store' } }

const FACTS = { tag: 'Webhooks', metered: false } as const

const WEBHOOKS_PER_WALLET_MAX = 20

const orNull = <S extends Parameters<typeof Type.Union>[0][number]>(schema: S) =>
  Type.Union([schema, Type.Null()])

const text = orNull(Type.String())

const WebhookRecord = named('Webhook', {
  id: Type.String(),
  url: Type.String(),
  description: text,
  filter: recordOf(Type.Union([Type.String(), Type.Number(), Type.Null()])),
  state: Type.Enum(['active', 'unfunded', 'failing', 'disabled'], {
    description: '`unfunded`: quota and balance are empty; `failing`: the last attempt failed.',
  }),
  reason: Type.Union([Type.Null(), Type.String()], {
    description:
      'Why it is disabled: `gone` for 410, `failing` for five days, `filter_not_served`.',
  }),
  createdAt: Type.String(),
  cursor: Type.String({
    description: 'The last event that was delivered or passed, as an id of the stream.',
  }),
  delivered: Type.Integer({ description: 'Events that it has got.' }),
  failingSince: text,
  failedAttempts: Type.Integer({ description: 'In a row.' }),
  nextAttemptAt: text,
  lastAnswer: orNull(
    Type.Object({
      answer: Type.String({
        description: 'A status, or what went wrong, such as `timeout` or `payment_required`.',
      }),
      at: Type.String(),
    }),
  ),
})

const OneWebhook = named('OneWebhook', { webhook: WebhookRecord })

const WebhookWithSecret = named('WebhookWithSecret', {
  webhook: WebhookRecord,
  secret: Type.String({
    description: 'Verifies signatures, as libraries of Standard Webhooks take it (`whsec_…`).',
  }),
})

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
    filter: Type.Optional(
      Type.Object(Object.fromEntries(filter), {
        description: 'As the parameters of /api/stream.',
      }),
    ),
  })
}

function registerRoute(ctx: Context): Route {
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
    body: registerBody(ctx.ecosystem),
    answers: {
      201: { description: 'Registered; events from now on follow.', schema: WebhookWithSecret },
    },
    refusals: ['webhook_limit_reached', 'key_revoked', 'data_not_ready'],
    async handle({ caller, body }) {
      const key = requireKey(caller)
      if (isRefusal(key)) return key
      const url = parseWebhookUrl(body.url, { allowPrivate: ctx.config.webhookPrivate })
      if (typeof url === 'string')
        return refuse('invalid_body', `url ${url}`, {
          errors: [{ in: 'body', name: 'url', reason: url }],
        })
      const id = randomUUID()
      const filter = parseFilter(ctx.ecosystem, body.filter ?? {})
      if (isRefusal(filter)) return filter
      const end = await ctx.register.snapshot(readEnd)
      if (end === undefined)
        return refuse('data_not_ready', 'no block is indexed yet; register again in a moment')
      const secret = newSecret()
      const webhook: Partial<Webhook> = {
        id,
        cursor: showCursor(end),
        secret,
        url: url.href,
        description: body.description ?? null,
        filter: JSON.stringify(filter.effective),
        wallet: key.wallet,
        createdUnix: unixNow(ctx.clock),
      }
      const made = await writeOrRefuse(ctx.accounts, async (connection) => {
        const publicId = await lockSuccessor(connection, key.publicId)
        if (publicId !== key.publicId) return refuse('key_revoked', 'rotated: use the newest key')
        if ((await countOfWallet(connection, key.wallet)) >= WEBHOOKS_PER_WALLET_MAX)
          return refuse(
            'webhook_limit_reached',
            `this wallet has ${WEBHOOKS_PER_WALLET_MAX} webhooks, the maximum; delete one`,
          )
        await insertWebhook(connection, { ...webhook, publicId })
        return ownWebhook(connection, key, id)
      })
      return isRefusal(made) ? made : answer(201, { webhook: toRecord(made), secret }, NO_STORE)
    },
  })
}

function listRoute(ctx: Context): Route {
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
      const key = requireKey(caller)
      if (isRefusal(key)) return key
      const own = await ctx.accounts.snapshot((reads) => ownWebhooks(reads, key))
      return answer(200, { webhooks: own.map(toRecord) }, NO_STORE)
    },
  })
}

type OwnFacts = 'method' | 'path' | 'operationId' | 'summary' | 'description' | 'answers' | 'guard'

interface OwnRoute extends Pick<Route, OwnFacts> {
  work(tx: Connection, own: Webhook): Promise<object>
}

/** A route about one webhook of the caller's key. */
function ownRoute(ctx: Context, { work, ...facts }: OwnRoute): Route {
  return defineRoute({
    ...FACTS,
    ...facts,
    parameters: { webhookId: webhookIdInPath },
    refusals: ['webhook_not_found'],
    async handle({ caller, parameters: { webhookId } }) {
      const key = requireKey(caller)
      if (isRefusal(key)) return key
      const run = async (tx: Connection) => {
        const own = await ownWebhook(tx, key, webhookId)
        return isRefusal(own) ? own : work(tx, own)
      }
      const body = await (facts.method === 'GET'
        ? ctx.accounts.snapshot(run)
        : writeOrRefuse(ctx.accounts, run))
      return isRefusal(body) ? body : answer(200, body, NO_STORE)
    },
  })
}

/** Applies the changes whatever the webhook's cursor is by now. */
async function changed(tx: Connection, own: Webhook, changes: Partial<Webhook>) {
  return (await changeWebhook(tx, { id: own.id }, changes)) ?? own
}

/** 32 random bytes in the form that Standard Webhooks libraries expect. */
function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`
}

const RESUMED: Partial<Webhook> = { ...AT_ONCE, enabled: true, reason: null }

const UUID = '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'

const webhookIdInPath: Parameter<string> = {
  in: 'path',
  description: 'The `id` of a webhook.',
  schema: Type.String({ pattern: UUID }),
  example: '0d9b6f54-3c7e-4a52-9a0b-6f2f6f6d1c11',
  parse: (raw = '') =>
    new RegExp(UUID).test(raw) ? parsed(raw, raw) : { ok: false, reason: 'must be a UUID' },
}

/** Refuses callers without a key. */
function requireKey(caller: Caller): KeyedCaller | Refusal {
  if (caller.kind === 'keyed') return caller
  return refuse('invalid_api_key', 'send "Authorization: Bearer <key>" of the webhooks')
}

/** Lists webhooks of the key and of its predecessors. */
async function ownWebhooks(
  connection: Connection,
  { publicId }: KeyedCaller,
): Promise<readonly Webhook[]> {
  return listWebhooks(connection, await listRotations(connection, publicId))
}

async function ownWebhook(
  connection: Connection,
  caller: KeyedCaller,
  id: string,
): Promise<Webhook | Refusal> {
  const own = (await ownWebhooks(connection, caller)).find((each) => each.id === id)
  return own ?? refuse('webhook_not_found', `this key has no webhook ${id}`)
}

function toRecord(webhook: Webhook) {
  const { answer, answerUnix, dueMs } = webhook
  return {
    id: webhook.id,
    url: webhook.url,
    description: webhook.description,
    filter: JSON.parse(webhook.filter),
    state: describeState(webhook),
    reason: webhook.reason,
    createdAt: toIso(webhook.createdUnix),
    cursor: webhook.cursor,
    delivered: webhook.delivered,
    failingSince: isoOrNull(webhook.failingUnix),
    failedAttempts: webhook.attempts,
    nextAttemptAt: isoOrNull(webhook.enabled && dueMs > 0 ? Math.floor(dueMs / 1_000) : null),
    lastAnswer: answer === null ? null : { answer, at: toIso(answerUnix ?? 0) },
  }
}

function describeState({ enabled, answer, attempts, dueMs }: Webhook) {
  if (!enabled) return 'disabled'
  if (answer === 'payment_required' && dueMs > 0) return 'unfunded'
  return attempts > 0 ? 'failing' : 'active'
}

function isoOrNull(unix: number | null): string | null {
  return unix === null ? null : toIso(unix)
}

type Parsers = ReturnType<typeof filterParameters>

/** Parses a filter like the parameters of the stream. */
function parseFilter(
  ecosystem: Ecosystem,
  given: Readonly<Record<string, unknown>>,
): { readonly filter: Filter; readonly effective: Readonly<Record<string, Effective>> } | Refusal {
  const texts = Object.entries(given).filter(([, value]) => value !== null)
  const query = new Map(texts.map(([name, value]) => [name, [String(value)]]))
  const parsed = parseParameters(filterParameters(ecosystem), { query, path: {} })
  if (isRefusal(parsed)) {
    const errors = (parsed.errors ?? []).map((each) => {
      return { ...each, in: 'body' as const, name: `filter.${each.name}` }
    })
    return { ...parsed, code: 'invalid_body', message: `filter.${parsed.message}`, errors }
  }
  return { filter: parsed.parameters as ValuesOf<Parsers>, effective: parsed.effective }
}

/** Returns undefined while the ecosystem file lacks the filter's token or chain. */
export function readFilter(ecosystem: Ecosystem, text: string): Filter | undefined {
  const parsed = parseFilter(ecosystem, JSON.parse(text))
  return isRefusal(parsed) ? undefined : parsed.filter
}
