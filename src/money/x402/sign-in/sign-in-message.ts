import { type Address, parseAddress } from '#domain/address.ts'
import { parseSignature, recoverSigner, type Signature } from '#domain/signature.ts'
import { isObject, type JsonObject } from '#lib/json.ts'
import type { Clock } from '#lib/time.ts'
import { networkOf } from '../offers/offer.ts'
import { decodeJson } from '../offers/payment-payload.ts'

export interface SignIn {
  readonly wallet: Address
  readonly nonce: string
  /** A wallet's clock may be ahead. */
  readonly usableFromMs: number
  /** Exclusive. */
  readonly untilMs: number
}

export interface UnprovenSignIn {
  readonly signIn: SignIn
  readonly name: string
  isSigned(): boolean
}

/** From the sign-in extension where it has one. */
export type SignInFault =
  | 'invalid_siwx_header'
  | 'invalid_siwx_domain_mismatch'
  | 'invalid_siwx_uri_mismatch'
  | 'invalid_siwx_unsupported_chain'
  | 'invalid_siwx_issued_at_too_old'
  | 'invalid_siwx_issued_at_in_future'
  | 'invalid_siwx_expired'
  | 'invalid_siwx_not_yet_valid'
  | 'invalid_siwx_nonce'
  | 'invalid_siwx_signature'

export interface SignInDeps {
  readonly payment: { readonly chain: { readonly id: number } }
  readonly clock: Clock
  /** No trailing slash; messages are valid for this origin only. */
  readonly publicBaseUrl: string
}

export const SIGN_IN_MS = 300_000

const AHEAD_MAX_MS = 60_000

/**
 * Parses `SIGN-IN-WITH-X`, base64 of a CAIP-122 message's fields and signature, and rebuilds the signed text (EIP-4361). Does not check the signature.
 */
export function readSignIn(
  deps: SignInDeps,
  header: string | readonly string[],
): UnprovenSignIn | SignInFault {
  const fields = typeof header === 'string' ? readFields(decodeJson(header)) : undefined
  if (fields === undefined) return 'invalid_siwx_header'
  const fault = checkPlace(deps, fields) ?? checkTime(deps.clock(), fields)
  if (fault !== undefined) return fault
  const { wallet, nonce, signature } = fields
  const text = signInText(fields)
  const usableFromMs = toMs(fields.issuedAt) - AHEAD_MAX_MS
  return {
    signIn: { wallet, nonce, usableFromMs, untilMs: endOf(fields) },
    name: `${signature} ${text}`,
    isSigned: () => recoverSigner(text, signature) === wallet,
  }
}

interface Fields {
  readonly address: string
  readonly wallet: Address
  readonly domain: string
  readonly statement: string | undefined
  readonly uri: string
  readonly chainId: string
  readonly nonce: string
  readonly issuedAt: string
  readonly expirationTime: string | undefined
  readonly notBefore: string | undefined
  readonly requestId: string | undefined
  readonly resources: readonly string[] | undefined
  readonly signature: Signature
}

/** A line break could fake other fields. */
const LINE = /^[\x20-\x7e]{1,2048}$/

const RESOURCES_MAX = 10

function readFields(value: unknown): Fields | undefined {
  if (!isObject(value) || value.version !== '1' || value.type !== 'eip191') return undefined
  const { domain, address, uri, chainId, nonce, issuedAt } = value
  if (!isLine(domain) || !isLine(address) || !isLine(uri)) return undefined
  if (!isLine(chainId) || !isLine(nonce) || !isLine(issuedAt)) return undefined
  const wallet = parseAddress(address)
  const signature =
    typeof value.signature === 'string' ? parseSignature(value.signature) : undefined
  const optional = readOptional(value)
  if (wallet === undefined || signature === undefined || optional === undefined) return undefined
  return { address, wallet, domain, uri, chainId, nonce, issuedAt, signature, ...optional }
}

function readOptional({ statement, expirationTime, notBefore, requestId, resources }: JsonObject) {
  if (!isLineOrNone(statement) || !isLineOrNone(expirationTime)) return undefined
  if (!isLineOrNone(notBefore) || !isLineOrNone(requestId)) return undefined
  if (!isListOrNone(resources)) return undefined
  return { statement, expirationTime, notBefore, requestId, resources }
}

function isListOrNone(value: unknown): value is readonly string[] | undefined {
  if (value === undefined) return true
  return Array.isArray(value) && value.length <= RESOURCES_MAX && value.every(isLine)
}

function isLine(value: unknown): value is string {
  return typeof value === 'string' && LINE.test(value)
}

function isLineOrNone(value: unknown): value is string | undefined {
  return value === undefined || isLine(value)
}

/** EIP-4361: at least eight characters. */
const NONCE = /^[0-9A-Za-z]{8,64}$/

function checkPlace(deps: SignInDeps, fields: Fields): SignInFault | undefined {
  const { origin, host } = new URL(deps.publicBaseUrl)
  if (fields.domain !== host) return 'invalid_siwx_domain_mismatch'
  if (![fields.uri, ...(fields.resources ?? [])].every((uri) => isOf(origin, uri)))
    return 'invalid_siwx_uri_mismatch'
  if (fields.chainId !== networkOf(deps.payment.chain.id)) return 'invalid_siwx_unsupported_chain'
  return NONCE.test(fields.nonce) ? undefined : 'invalid_siwx_nonce'
}

function isOf(origin: string, uri: string): boolean {
  return URL.canParse(uri) && new URL(uri).origin === origin
}

function checkTime(nowMs: number, fields: Fields): SignInFault | undefined {
  const issuedMs = toMs(fields.issuedAt)
  // NaN compares as false, so each check states what must hold.
  if (!(issuedMs > nowMs - SIGN_IN_MS)) return 'invalid_siwx_issued_at_too_old'
  if (!(issuedMs <= nowMs + AHEAD_MAX_MS)) return 'invalid_siwx_issued_at_in_future'
  if (!(endOf(fields) > nowMs)) return 'invalid_siwx_expired'
  const { notBefore } = fields
  if (notBefore !== undefined && !(toMs(notBefore) <= nowMs)) return 'invalid_siwx_not_yet_valid'
  return undefined
}

function endOf({ issuedAt, expirationTime }: Fields): number {
  const latest = toMs(issuedAt) + SIGN_IN_MS
  return expirationTime === undefined ? latest : Math.min(latest, toMs(expirationTime))
}

function toMs(text: string): number {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$/.test(text) ? Date.parse(text) : Number.NaN
}

function signInText(fields: Fields): string {
  const { domain, address, statement, uri, chainId, nonce, issuedAt, resources } = fields
  return [
    `${domain} wants you to sign in with your Ethereum account:`,
    address,
    '',
    ...(statement === undefined ? [''] : [statement, '']),
    `URI: ${uri}`,
    'Version: 1',
    `Chain ID: ${chainId.slice(chainId.indexOf(':') + 1)}`,
    `Nonce: ${nonce}`,
    `Issued At: ${issuedAt}`,
    ...lineOf('Expiration Time', fields.expirationTime),
    ...lineOf('Not Before', fields.notBefore),
    ...lineOf('Request ID', fields.requestId),
    ...(resources === undefined ? [] : ['Resources:', ...resources.map((each) => `- ${each}`)]),
  ].join('\n')
}

function lineOf(label: string, value: string | undefined): string[] {
  return value === undefined ? [] : [`${label}: ${value}`]
}
