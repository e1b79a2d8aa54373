import { toIso } from '#lib/time.ts'
import { named, Type } from '#lib/type.ts'
import type { EventCounts, QueuedEvent } from './event-store.ts'
import { STATES, type Webhook } from './webhook.ts'

const orNull = <S extends Parameters<typeof Type.Union>[0][number]>(schema: S) =>
  Type.Union([schema, Type.Null()])

const text = orNull(Type.String())

export const WebhookRecord = named('Webhook', {
  id: Type.String(),
  url: Type.String(),
  description: text,
  filter: Type.Record(Type.String(), text),
  state: Type.Enum(STATES.filter((each) => each !== 'ended')),
  reason: Type.Union([Type.Null(), Type.String()], {
    description: 'Why it is disabled: `gone` (410) or `failing` (for a week).',
  }),
  createdAt: Type.String(),
  delivered: Type.Integer({ description: 'Events that it has got.' }),
  waiting: Type.Integer({ description: 'Events that are sent next.' }),
  deadLetters: Type.Integer(),
  oldestWaitingAt: text,
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

export const DeadLetter = named('DeadLetter', {
  eventId: Type.String({ description: 'The `webhook-id` of each attempt.' }),
  type: Type.String(),
  reason: Type.String({ description: 'The last answer before it was given up.' }),
  queuedAt: Type.String(),
  diedAt: text,
  event: Type.Object(
    { type: Type.String(), timestamp: Type.String() },
    { description: 'What was, or would have been, sent; with its `data`.' },
  ),
})

const NOTHING: EventCounts = { waiting: 0, dead: 0, oldestUnix: null }

export function toWebhookRecord(webhook: Webhook, counts: EventCounts = NOTHING) {
  const { answer, answerUnix } = webhook
  return {
    id: webhook.id,
    url: webhook.url,
    description: webhook.description,
    filter: JSON.parse(webhook.filter),
    state: webhook.state,
    reason: webhook.reason,
    createdAt: toIso(webhook.createdUnix),
    delivered: webhook.delivered,
    waiting: counts.waiting,
    deadLetters: counts.dead,
    oldestWaitingAt: isoOrNull(counts.oldestUnix),
    failingSince: isoOrNull(webhook.failingUnix),
    failedAttempts: webhook.attempts,
    nextAttemptAt: isoOrNull(webhook.dueMs === null ? null : Math.floor(webhook.dueMs / 1_000)),
    lastAnswer: answer === null ? null : { answer, at: toIso(answerUnix ?? 0) },
  }
}

export function toDeadLetter({ id, type, reason, queuedUnix, diedUnix, payload }: QueuedEvent) {
  return {
    eventId: id,
    type,
    reason: reason ?? '',
    queuedAt: toIso(queuedUnix),
    diedAt: isoOrNull(diedUnix),
    event: JSON.parse(payload),
  }
}

function isoOrNull(unix: number | null): string | null {
  return unix === null ? null : toIso(unix)
}
