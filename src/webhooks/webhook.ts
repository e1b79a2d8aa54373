import { DAY_SECONDS } from '#lib/time.ts'
import type { Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { join, type Sql } from '#store/sql.ts'

export const STATES = ['unverified', 'active', 'unfunded', 'failing', 'disabled', 'ended'] as const

export type WebhookState = (typeof STATES)[number]

/** Members of a webhook, and how each is read from the column of its name. */
const MEMBERS = {
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
  /** When the balance fell below the limit; null while it is above. */
  lowUnix: column.integerOrNull,
  isLowTold: column.flag,
  /** Failed attempts in a row, and since when. */
  attempts: column.integer,
  failingUnix: column.integerOrNull,
  /** When to look at it next; null when it waits for its owner. */
  dueMs: column.integerOrNull,
  delivered: column.integer,
  answer: column.textOrNull,
  answerUnix: column.integerOrNull,
  createdUnix: column.integer,
} as const

/** A cursor on the feed whose changes are pushed to a URL. */
export type Webhook = { readonly [M in keyof typeof MEMBERS]: ReturnType<(typeof MEMBERS)[M]> }

export const WEBHOOKS_PER_WALLET_MAX = 20

/** Failing without one delivery; then it is disabled. */
export const FAILING_MAX_SECONDS = 7 * DAY_SECONDS

/** It gets no events, and waits for a challenge. */
export function mayBeChallenged({ state }: Webhook): boolean {
  return state === 'unverified' || state === 'disabled' || state === 'ended'
}

export const WEBHOOK_COLUMNS = join(Object.keys(MEMBERS).map(columnOf))

/** Columns are named as the members. */
export function columnOf(member: string): Sql {
  return { kind: 'sql', parts: [nameOf(member)], values: [] }
}

function nameOf(member: string): string {
  return member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

export function toWebhook(row: Row): Webhook {
  const members = Object.entries(MEMBERS)
  return Object.fromEntries(
    members.map(([member, read]) => [member, read(row, nameOf(member))]),
  ) as Webhook
}
