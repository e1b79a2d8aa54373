import { DAY_SECONDS } from '#lib/time.ts'
import type { Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

/** `ended`: removed by the deliverer once nothing is under way to it. */
export const STATES = ['verifying', 'unverified', 'active', 'disabled', 'ended'] as const

export type WebhookState = (typeof STATES)[number]

export interface Webhook {
  readonly id: string
  /** The key that registered it; its newest rotation pays. */
  readonly publicId: string
  readonly url: string
  readonly description: string | null
  /** JSON of stream parameters. */
  readonly filter: string
  readonly state: WebhookState
  readonly reason: string | null
  readonly challenge: string
  readonly epoch: string | null
  readonly sequence: number | null
  readonly lastPlace: number
  readonly attempts: number
  readonly failingUnix: number | null
  readonly dueMs: number | null
  readonly delivered: number
  readonly answer: string | null
  readonly answerUnix: number | null
  readonly createdUnix: number
}

export const WEBHOOKS_PER_KEY_MAX = 10

/** Beyond it the webhook stays behind in the feed. About 10 MB. */
export const WAITING_MAX = 10_000

/** Of a webhook; the oldest go first. */
export const DEAD_MAX = 1_000

export const DEAD_KEPT_DAYS = 30

/** How long an event is tried, and waits to be paid for. */
export const EVENT_TTL_SECONDS = DAY_SECONDS

/** Failing without one delivery; then it is disabled. */
export const FAILING_MAX_SECONDS = 7 * DAY_SECONDS

export const WEBHOOK_COLUMNS = sql`id, public_id, url, description, filter, state, reason, challenge,
  epoch, sequence, last_place, attempts, failing_unix, due_ms, delivered, answer, answer_unix,
  created_unix`

export function toWebhook(row: Row): Webhook {
  return {
    id: column.text(row, 'id'),
    publicId: column.text(row, 'public_id'),
    url: column.text(row, 'url'),
    description: column.textOrNull(row, 'description'),
    filter: column.text(row, 'filter'),
    state: column.text(row, 'state') as WebhookState,
    reason: column.textOrNull(row, 'reason'),
    challenge: column.text(row, 'challenge'),
    epoch: column.textOrNull(row, 'epoch'),
    sequence: column.integerOrNull(row, 'sequence'),
    lastPlace: column.integer(row, 'last_place'),
    attempts: column.integer(row, 'attempts'),
    failingUnix: column.integerOrNull(row, 'failing_unix'),
    dueMs: column.integerOrNull(row, 'due_ms'),
    delivered: column.integer(row, 'delivered'),
    answer: column.textOrNull(row, 'answer'),
    answerUnix: column.integerOrNull(row, 'answer_unix'),
    createdUnix: column.integer(row, 'created_unix'),
  }
}
