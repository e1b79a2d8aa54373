import { DAY_SECONDS } from '#lib/time.ts'
import type { Row } from '#store/engine.ts'
import { codecOf, column, type RowOf } from '#store/row.ts'

export const STATES = ['unverified', 'active', 'unfunded', 'failing', 'disabled', 'ended'] as const

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
  challenge: column.text,
  /** Null until its URL has answered a challenge. */
  cursor: column.textOrNull,
  /** Everything older was delivered and is final, on every chain. */
  finalUnix: column.integerOrNull,
  /** The version of its secret. */
  version: column.integer,
  rotatedUnix: column.integerOrNull,
  /** Paid events of a UTC day; null without a cap. */
  dailyCap: column.integerOrNull,
  capDay: column.integer,
  capCalls: column.integer,
  /** Time when the balance fell below the limit; null while it is above. */
  lowUnix: column.integerOrNull,
  isLowTold: column.flag,
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

/** It gets no events, and waits for a challenge. */
export function mayBeChallenged({ state }: Webhook): boolean {
  return state === 'unverified' || state === 'disabled' || state === 'ended'
}
