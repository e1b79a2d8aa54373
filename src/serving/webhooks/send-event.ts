import { type Clock, toIso, unixNow } from '#lib/time.ts'
import { signedHeaders } from '#serving/webhooks/post-event.ts'
import { type PostDeps, type PostResult, postEvent } from './post-event.ts'
import type { Webhook } from './webhook.ts'

export interface EventSendDeps extends PostDeps {
  readonly clock: Clock
  /** Aborts what is being sent. */
  readonly signal: AbortSignal
}

export interface WebhookEvent {
  /** The same at every attempt. */
  readonly id: string
  readonly type: string
  /** Time of the event; defaults to now. */
  readonly unix?: number
  /** JSON. */
  readonly data: string
}

/** The body names the webhook and its URL, so that it cannot pass for another's. */
export function sendEvent(
  deps: EventSendDeps,
  webhook: Webhook,
  event: WebhookEvent,
): Promise<PostResult> {
  const { clock, signal } = deps
  const { id, type, data } = event
  const { id: webhookId, url, secret } = webhook
  const unix = unixNow(clock)
  const facts = JSON.stringify({ type, timestamp: toIso(event.unix ?? unix), webhookId, url })
  const payload = `${facts.slice(0, -1)},"data":${data}}`
  const headers = signedHeaders(secret, { id, unix, payload })
  return postEvent(deps, { url, payload, headers, signal })
}
