import {
  createPrivateKey,
  createPublicKey,
  hash,
  hkdfSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { canonicalJson } from './canonical-json.ts'
import { isObject } from './json.ts'

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
  /** The key that signs. */
  readonly kid: string
  readonly jwks: { readonly keys: readonly PublicJwk[] }
  sign(bytes: Uint8Array): Buffer
  /** A secret of 32 bytes from each private key (HKDF-SHA256, RFC 5869), the signer's first. */
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
  return { kid: own.kid, jwks: { keys: jwks }, sign: (bytes) => sign(null, bytes, signer), derive }
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
  const named = { kty: 'OKP', crv: 'Ed25519', x } as const
  const kid = hash('sha256', canonicalJson(named), 'base64url')
  return { ...named, kid, alg: 'EdDSA', use: 'sig' }
}

/** Compact JWS (RFC 7515). `typ` keeps a signature from counting as one of another kind. */
export function signJws(
  keys: Pick<SigningKeys, 'kid' | 'sign'>,
  { typ, payload }: { readonly typ: string; readonly payload: string },
): string {
  const header = JSON.stringify({ alg: 'EdDSA', kid: keys.kid, typ })
  const input = `${toBase64url(header)}.${toBase64url(payload)}`
  return `${input}.${keys.sign(Buffer.from(input)).toString('base64url')}`
}

/** Returns the payload, or what is wrong. */
export function verifyJws(
  jws: string,
  { typ, jwks }: { readonly typ: string; readonly jwks: unknown },
): { readonly kid: string; readonly payload: string } | string {
  const [head = '', body = '', signature = '', ...rest] = jws.split('.')
  const header = parseObject(Buffer.from(head, 'base64url').toString())
  if (header === undefined || signature === '' || rest.length > 0) return 'not a compact JWS'
  const { alg, kid } = header
  if (alg !== 'EdDSA' || header.typ !== typ || typeof kid !== 'string')
    return `its header must have alg "EdDSA", typ "${typ}" and a kid`
  const listed = isObject(jwks) && Array.isArray(jwks.keys) ? jwks.keys : []
  const jwk: unknown = listed.find((each: unknown) => isObject(each) && each.kid === kid)
  if (!isObject(jwk)) return `the key set has no key "${kid}"`
  const { kty, crv, x } = jwk
  const isKey =
    kty === 'OKP' && crv === 'Ed25519' && typeof x === 'string' && toBytes(x).length === 32
  if (!isKey) return `the key "${kid}" of the key set is not an Ed25519 key`
  const key = createPublicKey({ key: { kty, crv, x }, format: 'jwk' })
  const isGood = verify(null, Buffer.from(`${head}.${body}`), key, toBytes(signature))
  if (!isGood) return `it is not by the key "${kid}"`
  return { kid, payload: Buffer.from(body, 'base64url').toString() }
}

function parseObject(text: string) {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function toBase64url(text: string): string {
  return Buffer.from(text).toString('base64url')
}

/** Strict: other spellings of the same bytes are refused. */
function toBytes(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : Buffer.alloc(0)
}
