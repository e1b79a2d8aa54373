import { createHmac } from 'node:crypto'
import type { SigningKeys } from '#lib/signing-keys.ts'
import { DAY_SECONDS } from '#lib/time.ts'
import type { Webhook } from './webhook.ts'

export type SecretKeys = Pick<SigningKeys, 'derive'>

type Owner = Pick<Webhook, 'id' | 'version'>

/** How long the secret before a rotation signs too. */
const PREVIOUS_SECONDS = DAY_SECONDS

/** Returns the secret as libraries of Standard Webhooks take it. Derived, so nothing secret is stored. */
export function secretOf(keys: SecretKeys, webhook: Owner): string {
  const [newest = Buffer.alloc(0)] = derive(keys, webhook)
  return `whsec_${newest.toString('base64')}`
}

/** Derives one from each private key of the service, newest first. */
function derive(keys: SecretKeys, { id, version }: Owner): readonly Buffer[] {
  return keys.derive(`webhook ${id} ${version}`)
}

/** Headers of Standard Webhooks 1.0.0, symmetric (`v1`); one signature for each valid secret. */
export function signedHeaders(
  keys: SecretKeys,
  webhook: Pick<Webhook, 'id' | 'version' | 'rotatedUnix'>,
  event: {
    /** The same at every attempt. */
    readonly id: string
    /** The time of the attempt. */
    readonly unix: number
    readonly payload: string
  },
): Readonly<Record<string, string>> {
  const { id, version, rotatedUnix } = webhook
  const isRotating = rotatedUnix !== null && event.unix - rotatedUnix < PREVIOUS_SECONDS
  const versions = isRotating ? [version, version - 1] : [version]
  const secrets = versions.flatMap((each) => derive(keys, { id, version: each }))
  const content = `${event.id}.${event.unix}.${event.payload}`
  return {
    'webhook-id': event.id,
    'webhook-timestamp': String(event.unix),
    'webhook-signature': secrets
      .map((secret) => `v1,${createHmac('sha256', secret).update(content).digest('base64')}`)
      .join(' '),
  }
}
