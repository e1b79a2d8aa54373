import { createHmac, randomBytes } from 'node:crypto'

/** 32 random bytes as libraries of Standard Webhooks take them. */
export function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`
}

/** Headers of Standard Webhooks 1.0.0, symmetric (`v1`). */
export function signedHeaders(
  secret: string,
  event: {
    /** The same at every attempt. */
    readonly id: string
    /** The time of the attempt. */
    readonly unix: number
    readonly payload: string
  },
): Readonly<Record<string, string>> {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const content = `${event.id}.${event.unix}.${event.payload}`
  return {
    'webhook-id': event.id,
    'webhook-timestamp': String(event.unix),
    'webhook-signature': `v1,${createHmac('sha256', key).update(content).digest('base64')}`,
  }
}
