import { DAY_SECONDS } from '#lib/time.ts'
import { codecOf, column, type Row, type RowOf } from '#store/sql.ts'

export const STATES = ['active', 'unfunded', 'failing', 'disabled', 'ended'] as const

export type WebhookState = (typeof STATES)[number]

export const webhooks = codecOf({
  id: column.text,
  /** The key that registered it; its newest rotation pays. */
  publicId: column.text,
  wallet: column.text,
  url: column.text,
  description: column.textOrNull,
  /** JSON of stream parameters. */
  filter: column.text,
  state: (row: Row, name: string) => column.text(row, name) as WebhookState,
  reason: column.textOrNull,
  cursor: column.text,
  /** Everything older was delivered and is final, on every chain. */
  finalUnix: column.integerOrNull,
  /** Signs its events; shown when it is made or rotated. */
  secret: column.text,
  /** Paid events of a UTC day; null without a cap. */
  dailyCap: column.integerOrNull,
  capDay: column.integer,
  capCalls: column.integer,
  /** Failed attempts in a row, and since when. */
  attempts: column.integer,
  failingUnix: column.integerOrNull,
  /** Time of the next attempt; null when it waits for its owner. */
  dueMs: column.integerOrNull,
  delivered: column.integer,
  answer: column.textOrNull,
  answerUnix: column.integerOrNull,
  createdUnix: column.integer,
})

/** A cursor on the feed whose changes are pushed to a URL. */
export type Webhook = RowOf<typeof webhooks>

export const WEBHOOKS_PER_WALLET_MAX = 20

/** Failing without one delivery; then it is disabled. */
export const FAILING_MAX_SECONDS = 7 * DAY_SECONDS
