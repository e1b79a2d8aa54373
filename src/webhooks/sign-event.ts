import type { SigningKeys } from '#lib/signing-keys.ts'

export interface SignedEvent {
  /** The same at every attempt. */
  readonly id: string
  /** Of the attempt. */
  readonly unix: number
  readonly payload: string
}

/** Standard Webhooks 1.0.0, asymmetric (`v1a`, ed25519). */
export function signEvent(
  keys: Pick<SigningKeys, 'sign'>,
  { id, unix, payload }: SignedEvent,
): Readonly<Record<string, string>> {
  const signature = keys.sign(Buffer.from(`${id}.${unix}.${payload}`))
  return {
    'webhook-id': id,
    'webhook-timestamp': String(unix),
    'webhook-signature': `v1a,${signature.toString('base64')}`,
  }
}

/** What a receiver verifies with, as libraries of Standard Webhooks take it. */
export function webhookKeyOf({ kid, jwks }: Pick<SigningKeys, 'kid' | 'jwks'>): string {
  const own = jwks.keys.find((each) => each.kid === kid)
  return `whpk_${Buffer.from(own?.x ?? '', 'base64url').toString('base64')}`
}
