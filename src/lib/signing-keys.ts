import { createPrivateKey, createPublicKey, hash, hkdfSync, type KeyObject } from 'node:crypto'

/** The public half of an ed25519 key (RFC 8037), named by its thumbprint (RFC 7638). */
export interface PublicJwk {
  readonly kty: 'OKP'
  readonly crv: 'Ed25519'
  readonly x: string
  readonly kid: string
  readonly alg: 'EdDSA'
  readonly use: 'sig'
}

export interface SigningKeys {
  /** The name of the key that signs. */
  readonly kid: string
  readonly signer: KeyObject
  readonly jwks: { readonly keys: readonly PublicJwk[] }
  /** Derives a secret of 32 bytes from each private key (HKDF-SHA256, RFC 5869), the signer's first. */
  derive(info: string): readonly Buffer[]
}

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g

/** The first of the PEM blocks signs, all are published. Returns every mistake. */
export function parseSigningKeys(pem: string): SigningKeys | readonly string[] {
  const blocks = [...pem.matchAll(BLOCK)]
  const parsed = blocks.map(([text, label = '']) => parseBlock(text, label))
  const mistakes = parsed.flatMap((each, index) =>
    typeof each === 'string' ? [`key ${index + 1} ${each}`] : [],
  )
  const begun = pem.split('-----BEGIN ').length - 1
  if (begun === 0) mistakes.push('it has no PEM block "-----BEGIN PRIVATE KEY-----"')
  else if (begun > blocks.length) mistakes.push('a PEM block has no matching END line')
  const keys = parsed.filter((each) => typeof each !== 'string')
  const jwks = keys.map(toJwk)
  const names = jwks.map(({ kid }) => kid)
  for (const kid of new Set(names.filter((name, index) => names.indexOf(name) < index)))
    mistakes.push(`the key ${kid} is there twice`)
  const [first] = parsed
  if (typeof first === 'object' && first.type !== 'private')
    mistakes.push('key 1 is a public key, but the first key signs: put a private key before it')
  const [signer] = keys
  const [own] = jwks
  if (mistakes.length > 0 || signer === undefined || own === undefined) return mistakes
  const derive = (info: string) =>
    keys.filter(({ type }) => type === 'private').map((key) => deriveSecret(key, info))
  return { kid: own.kid, signer, jwks: { keys: jwks }, derive }
}

function deriveSecret(key: KeyObject, info: string): Buffer {
  const { d = '' } = key.export({ format: 'jwk' })
  return Buffer.from(hkdfSync('sha256', Buffer.from(d, 'base64url'), '', info, 32))
}

function parseBlock(text: string, label: string): KeyObject | string {
  if (label !== 'PRIVATE KEY' && label !== 'PUBLIC KEY')
    return `is a "${label}": write PKCS#8 ("PRIVATE KEY"), or "PUBLIC KEY"`
  try {
    const key = label === 'PRIVATE KEY' ? createPrivateKey(text) : createPublicKey(text)
    const { asymmetricKeyType: type } = key
    return type === 'ed25519' ? key : `is of type ${type}: it must be ed25519`
  } catch {
    return 'cannot be decoded'
  }
}

function toJwk(key: KeyObject): PublicJwk {
  const { x = '' } = (key.type === 'private' ? createPublicKey(key) : key).export({ format: 'jwk' })
  // The thumbprint needs this order of members.
  const named = { crv: 'Ed25519', kty: 'OKP', x } as const
  const kid = hash('sha256', JSON.stringify(named), 'base64url')
  return { ...named, kid, alg: 'EdDSA', use: 'sig' }
}
