import { hash } from 'node:crypto'
import type { Context } from '#context.ts'
import { type Address, parseAddress, parseHash } from '#domain/address.ts'
import { PUBLIC_ID } from '#domain/caller.ts'
import type { Freshness, PayerProof } from '#domain/payer-proof.ts'
import { isRefusal, type Refusal, refuse } from '#domain/refusal.ts'
import { parseSignature, recoverSigner } from '#domain/signature.ts'
import { parseInstant } from '#lib/time.ts'

type Checking = Pick<Context, 'ecosystem' | 'clock'>

/** One title each, so that no signature serves another action. */
export const ACTIONS = [
  'mint',
  'list',
  'revoke',
  'rotate',
  'move-balance',
  'link-payer',
  'label',
  'limits',
] as const

export type Action = (typeof ACTIONS)[number]

type Field = 'address' | 'chain' | 'transaction' | 'key' | 'to' | 'issued'

export type MessageValues = Readonly<Partial<Record<Field, string>>>

const FORMS: Readonly<
  Record<Action, { readonly title: string; readonly fields: readonly Field[] }>
> = {
  mint: { title: 'mint an API key', fields: ['address', 'issued'] },
  list: { title: 'list my API keys', fields: ['address', 'issued'] },
  revoke: { title: 'revoke an API key', fields: ['address', 'key', 'issued'] },
  rotate: { title: 'rotate an API key', fields: ['address', 'key', 'issued'] },
  'move-balance': { title: 'move a prepaid balance', fields: ['address', 'key', 'to', 'issued'] },
  label: { title: 'rename an API key', fields: ['address', 'key', 'issued'] },
  limits: { title: 'change the limits of an API key', fields: ['address', 'key', 'issued'] },
  'link-payer': {
    title: 'credit my payment to an API key',
    fields: ['address', 'chain', 'transaction', 'key', 'issued'],
  },
}

const LABELS: Readonly<Record<Field, string>> = {
  address: 'Address',
  chain: 'Chain',
  transaction: 'Transaction',
  key: 'Key',
  to: 'To',
  issued: 'Issued',
}

const CHAIN_ID = /^[1-9][0-9]{0,15}$/

const GRAMMAR: Readonly<Record<Field, (text: string) => boolean>> = {
  address: (text) => parseAddress(text) !== undefined,
  chain: (text) => CHAIN_ID.test(text),
  transaction: (text) => parseHash(text) !== undefined,
  key: (text) => PUBLIC_ID.test(text),
  to: (text) => PUBLIC_ID.test(text),
  issued: (text) => parseInstant(text) !== undefined,
}

const MESSAGE_BYTES_MAX = 512

/** Enough to sign on a phone; limits the use of stolen signatures. */
const AGE_MAX_MS = 5 * 60_000

const DAY_MS = 86_400_000

/** Clock skew of wallets. */
const AHEAD_MAX_MS = 60_000

export function fieldsOf(action: Action): readonly Field[] {
  return FORMS[action].fields
}

/** LF between lines, none at the end. */
export function buildMessage(serviceName: string, action: Action, values: MessageValues): string {
  const { title, fields } = FORMS[action]
  const lines = fields.map((field) => `${LABELS[field]}: ${values[field] ?? ''}`)
  return [`${serviceName}: ${title}`, ...lines].join('\n')
}

/** Undefined unless it equals `buildMessage` byte for byte. */
export function parseMessage(
  serviceName: string,
  text: string,
): { readonly action: Action; readonly values: MessageValues } | undefined {
  if (text.length > MESSAGE_BYTES_MAX || !/^[\x20-\x7e\n]*$/.test(text)) return undefined
  const [title, ...lines] = text.split('\n')
  const action = ACTIONS.find((each) => title === `${serviceName}: ${FORMS[each].title}`)
  if (action === undefined) return undefined
  const values: Partial<Record<Field, string>> = {}
  for (const [index, field] of FORMS[action].fields.entries()) {
    const value = lines[index]?.slice(LABELS[field].length + 2)
    if (value === undefined || !GRAMMAR[field](value)) return undefined
    values[field] = value
  }
  return buildMessage(serviceName, action, values) === text ? { action, values } : undefined
}

export interface Expected {
  readonly action: Action
  readonly address: Address
  readonly freshness: Freshness
}

export function checkMessage(
  { ecosystem, clock }: Checking,
  text: string,
  expected: Expected,
): MessageValues | Refusal {
  const message = parseMessage(ecosystem.service.name, text)
  if (message === undefined)
    return refuse(
      'message_malformed',
      'the message must be exactly the text returned by GET /api/keys/message',
    )
  if (message.action !== expected.action)
    return refuse('message_wrong_action', `the message is for the action "${message.action}"`)
  const { freshness } = expected
  const ageMaxMs = freshness === 'day' ? DAY_MS : AGE_MAX_MS
  const isOld = !isFresh(issuedMs(message.values), { nowMs: clock(), ageMaxMs })
  if (isOld && freshness !== 'ignored')
    return refuse(
      'message_expired',
      `Issued must be within the last ${freshness === 'day' ? 'day' : '5 minutes'}`,
    )
  if (parseAddress(message.values.address ?? '') !== expected.address)
    return refuse('message_address_mismatch', 'the message is for another address')
  return message.values
}

function isFresh(
  atMs: number,
  { nowMs, ageMaxMs }: { readonly nowMs: number; readonly ageMaxMs: number },
): boolean {
  return atMs >= nowMs - ageMaxMs && atMs <= nowMs + AHEAD_MAX_MS
}

/** The first moment at which the message is accepted. */
export function usableFromMs(values: MessageValues): number {
  return issuedMs(values) - AHEAD_MAX_MS
}

function issuedMs(values: MessageValues): number {
  return parseInstant(values.issued ?? '') ?? 0
}

interface SignedInput {
  readonly ownerAddress: string
  readonly signature: string
  readonly message: string
}

export interface SignedMessage {
  readonly wallet: Address
  readonly values: MessageValues
  /** Digest of message and address, since signatures can be re-encoded. */
  readonly digest: string
}

/** Recovery takes milliseconds, so it comes last. */
export function checkSigned(
  ctx: Checking,
  input: SignedInput,
  expected: { readonly action: Action; readonly freshness: Freshness },
): SignedMessage | Refusal {
  const wallet = parseAddress(input.ownerAddress)
  if (wallet === undefined) return refuse('invalid_address', 'the wallet address is not valid')
  const signature = parseSignature(input.signature)
  if (signature === undefined)
    return refuse(
      'invalid_signature_format',
      'signature must be 130 hex digits, with or without 0x, with low s and v of 27 or 28',
    )
  const values = checkMessage(ctx, input.message, { ...expected, address: wallet })
  if (isRefusal(values)) return values
  if (recoverSigner(input.message, signature) !== wallet)
    return refuse('invalid_signature', 'the message was not signed by this wallet')
  return { wallet, values, digest: digestOf(input.message, wallet) }
}

function digestOf(message: string, wallet: Address): string {
  return hash('sha256', `${wallet}\n${message}`, 'hex')
}

/** Undefined when valid. It binds payer, chain, transaction and key, so replays are harmless. */
export async function verifyPayerProof(
  ctx: Checking,
  input: PayerProof,
): Promise<Refusal | undefined> {
  const { payerAddress: address, message, signature } = input
  const expected = { action: 'link-payer', freshness: input.freshness } as const
  const read = input.byContract
    ? checkMessage(ctx, message, { ...expected, address })
    : checkSigned(ctx, { ownerAddress: address, message, signature }, expected)
  if (isRefusal(read)) return read
  const { chain, transaction, key } = 'values' in read ? read.values : read
  if (
    chain === String(input.chainId) &&
    transaction?.toLowerCase() === input.txHash &&
    key === input.publicId
  )
    return undefined
  return refuse('message_wrong_action', 'the proof names another chain, transaction or key')
}
