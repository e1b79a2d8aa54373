import { randomBytes } from 'node:crypto'
import { showCursor } from '#chains/indexer/feed/cursor.ts'
import { readEnd } from '#chains/indexer/feed/read-feed.ts'
import { finalOnAllChains } from '#chains/indexer/feed/write-feed.ts'
import { isObject } from '#lib/json.ts'
import { unixNow } from '#lib/time.ts'
import type { Connection, Engine } from '#store/engine.ts'
import type { PostOutcome } from './post-event.ts'
import { type SendDeps, sendEvent } from './send-event.ts'
import type { Webhook } from './webhook.ts'
import { changeWebhook } from './webhook-store.ts'

interface ChallengeDeps extends SendDeps {
  readonly register: Engine
  readonly accounts: Engine
}

/** Makes a new challenge for each attempt. */
export function newChallenge(): string {
  return randomBytes(24).toString('base64url')
}

/**
 * Asks the URL once whether it wants the events. Not repeated: it may be anyone's, and the owner
 * can ask for another challenge. Waits for the feed, where the webhook begins.
 */
export async function challengeWebhook(deps: ChallengeDeps, webhook: Webhook): Promise<void> {
  const { register, accounts, clock } = deps
  const { id, challenge, cursor } = webhook
  const start = cursor === null ? await register.snapshot(readStart) : {}
  if (start === undefined) return
  const outcome = await sendEvent(deps, webhook, {
    id: `${id}-${challenge}`,
    type: 'webhook.challenge',
    data: JSON.stringify({ challenge }),
    readsBody: true,
  })
  const answer = judge(outcome, challenge)
  const seen = { answer, answerUnix: unixNow(clock), attempts: 0, failingUnix: null }
  const changes: Partial<Webhook> =
    answer === 'accepted'
      ? { state: 'active', reason: null, dueMs: clock(), ...start }
      : { dueMs: null }
  await accounts.write((connection) => changeWebhook(connection, webhook, { ...seen, ...changes }))
}

/** The end of the feed, and up to when all before it is final, if known; undefined without a feed. */
export async function readStart(
  connection: Connection,
): Promise<Pick<Webhook, 'cursor' | 'finalUnix'> | undefined> {
  const end = await readEnd(connection)
  if (end === undefined) return undefined
  return { cursor: showCursor(end), finalUnix: (await finalOnAllChains(connection)) || null }
}

function judge(outcome: PostOutcome, challenge: string): string {
  if (outcome.kind === 'failed') return outcome.reason
  if (outcome.status < 200 || outcome.status >= 300) return String(outcome.status)
  try {
    const echo: unknown = JSON.parse(outcome.body)
    if (isObject(echo) && echo.challenge === challenge) return 'accepted'
  } catch {
    // Other text is not an echo either.
  }
  return 'challenge_not_echoed'
}
