import { Type } from 'typebox'
import { mapOf, named } from '#lib/schema.ts'
import { toIso } from '#lib/time.ts'
import { STATES, type Webhook } from './webhook.ts'

const orNull = <S extends Parameters<typeof Type.Union>[0][number]>(schema: S) =>
  Type.Union([schema, Type.Null()])

const text = orNull(Type.String())

export const WebhookRecord = named('Webhook', {
  id: Type.String(),
  url: Type.String(),
  description: text,
  filter: mapOf(Type.Union([Type.String(), Type.Number(), Type.Null()])),
  dailyCap: orNull(Type.Integer({ description: 'Paid events of a UTC day.' })),
  state: Type.Enum([...STATES], {
    description: '`unfunded`: quota and balance are empty; `failing`: the last attempt failed.',
  }),
  reason: Type.Union([Type.Null(), Type.String()], {
    description:
      'Why it is disabled (`gone` for 410, `failing` for a week) or ended (`key_revoked`, `key_expired`).',
  }),
  createdAt: Type.String(),
  cursor: Type.String({
    description: 'The last event that was delivered or passed, as an id of the stream.',
  }),
  finalUntil: orNull(
    Type.String({ description: 'All that is older was delivered and is final, on every chain.' }),
  ),
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

export const OneWebhook = named('OneWebhook', { webhook: WebhookRecord })

export const WebhookWithSecret = named('WebhookWithSecret', {
  webhook: WebhookRecord,
  secret: Type.String({
    description: 'Verifies signatures, as libraries of Standard Webhooks take it (`whsec_…`).',
  }),
})

export function toWebhookRecord(webhook: Webhook) {
  const { answer, answerUnix, dueMs, state } = webhook
  const isWaiting = state === 'failing' || state === 'unfunded'
  return {
    id: webhook.id,
    url: webhook.url,
    description: webhook.description,
    filter: JSON.parse(webhook.filter),
    dailyCap: webhook.dailyCap,
    state,
    reason: webhook.reason,
    createdAt: toIso(webhook.createdUnix),
    cursor: webhook.cursor,
    finalUntil: isoOrNull(webhook.finalUnix),
    delivered: webhook.delivered,
    failingSince: isoOrNull(webhook.failingUnix),
    failedAttempts: webhook.attempts,
    nextAttemptAt: isoOrNull(isWaiting && dueMs !== null ? Math.floor(dueMs / 1_000) : null),
    lastAnswer: answer === null ? null : { answer, at: toIso(answerUnix ?? 0) },
  }
}

function isoOrNull(unix: number | null): string | null {
  return unix === null ? null : toIso(unix)
}
