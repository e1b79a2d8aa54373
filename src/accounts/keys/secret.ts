import { hash, randomBytes } from 'node:crypto'

const SECRET_BYTES = 16

const PUBLIC_ID_BYTES = 4

/** Shown once; only the digest is stored. */
export interface NewSecret {
  readonly publicId: string
  readonly secret: string
  readonly digest: string
}

export function newSecret(keyPrefix: string): NewSecret {
  const publicId = randomBytes(PUBLIC_ID_BYTES).toString('hex')
  const secret = `${keyPrefix}_${publicId}_${randomBytes(SECRET_BYTES).toString('hex')}`
  return { publicId, secret, digest: secretDigest(secret) }
}

export function secretDigest(secret: string): string {
  return hash('sha256', secret, 'hex')
}

export function isSecret(keyPrefix: string, text: string): boolean {
  if (!text.startsWith(`${keyPrefix}_`)) return false
  return /^[0-9a-f]{8}_[0-9a-f]{32}$/.test(text.slice(keyPrefix.length + 1))
}
