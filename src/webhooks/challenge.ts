import { randomBytes } from 'node:crypto'
import { readStart } from '#indexer/feed/read-start.ts'
import { isObject } from '#lib/json.ts'
import { unixNow } from '#lib/time.ts'
import type { Engine } from '#store/engine.ts'
import type { PostOutcome } from './post-event.ts'
import { type SendDeps, sendEvent } from './send-event.ts'
import type { Webhook } from './webhook.ts'
import { changeWebhook } from './webhook-store.ts'

interface ChallengeDeps extends SendDeps {
  readonly register: Engine
  readonly accounts: Engine
}

/** A new one for each attempt. */
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

function judge(outcome: PostOutcome, challenge: string): string {
  if (outcome.kind === 'failed') return outcome.reason
  if (outcome.status < 200 || outcome.status >= 300) return String(outcome.status)
  return isEchoed(outcome.body, challenge) ? 'accepted' : 'challenge_not_echoed'
}

function isEchoed(body: string, challenge: string): boolean {
  try {
    const echo: unknown = JSON.parse(body)
    return isObject(echo) && echo.challenge === challenge
  } catch {
    return false
  }
}
