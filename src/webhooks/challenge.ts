import { timingSafeEqual } from 'node:crypto'
import { readFeedState } from '#indexer/feed/read-feed.ts'
import { isObject } from '#lib/json.ts'
import { toIso, unixNow } from '#lib/time.ts'
import { hasQueued } from './event-store.ts'
import type { PostOutcome } from './post-event.ts'
import type { SendDeps } from './send-event.ts'
import { send } from './send-event.ts'
import type { Webhook } from './webhook.ts'
import { changeWebhook, lockWebhooks } from './webhook-store.ts'

/**
 * Asks the URL once whether it wants the events. Not repeated: it may be anyone's, and the owner
 * can ask for another challenge.
 */
export async function challengeWebhook(deps: SendDeps, webhook: Webhook): Promise<void> {
  const nowUnix = unixNow(deps.clock)
  const payload = JSON.stringify({
    type: 'webhook.challenge',
    timestamp: toIso(nowUnix),
    data: { challenge: webhook.challenge, webhookId: webhook.id },
  })
  const id = `${webhook.id}-challenge-${nowUnix}`
  const outcome = await send(deps, { url: webhook.url, id, payload, readsBody: true })
  const answer = judge(outcome, webhook.challenge)
  const feed = await deps.register.snapshot(readFeedState)
  await deps.write(async (connection) => {
    const now = (await lockWebhooks(connection, [webhook.id])).get(webhook.id)
    if (now?.state !== 'verifying' || now.challenge !== webhook.challenge) return
    const seen = { answer, answerUnix: nowUnix, attempts: 0, failingUnix: null }
    if (answer !== 'accepted')
      return changeWebhook(connection, now, { ...seen, state: 'unverified', dueMs: null })
    const dueMs = (await hasQueued(connection, now.id)) ? deps.clock() : null
    const at = { epoch: feed?.epoch ?? '', sequence: feed?.last ?? 0 }
    await changeWebhook(connection, now, { ...seen, ...at, state: 'active', reason: null, dueMs })
  })
}

function judge(outcome: PostOutcome, challenge: string): string {
  if (outcome.kind === 'failed') return outcome.reason
  if (outcome.status < 200 || outcome.status >= 300) return String(outcome.status)
  return isEchoed(outcome.body, challenge) ? 'accepted' : 'challenge_not_echoed'
}

function isEchoed(body: string, challenge: string): boolean {
  try {
    const echo: unknown = JSON.parse(body)
    if (!isObject(echo) || typeof echo.challenge !== 'string') return false
    const [given, wanted] = [Buffer.from(echo.challenge), Buffer.from(challenge)]
    return given.length === wanted.length && timingSafeEqual(given, wanted)
  } catch {
    return false
  }
}
