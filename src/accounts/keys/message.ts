import { hash } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { type Address, type Hash, parseAddress, parseHash, showAddress } from '#base/address.ts'
import { PUBLIC_ID } from '#base/caller.ts'
import type { Freshness, PayerProof } from '#base/payer-proof.ts'
import { isRefusal, type Refusal, refuse } from '#base/refusal.ts'
import { named } from '#base/schema.ts'
import { parseSignature, recoverSigner } from '#base/signature.ts'
import { DAY_SECONDS, parseInstant } from '#base/time.ts'
import type { Context } from '#context.ts'
import { addressParameter } from '#data/parameters.ts'
import { answer, defineRoute, type Parameter, parsed, type Route } from '#route.ts'

/** Each action has a title of its own, so that a signature cannot be used for another action. */
const FORMS = {
  mint: { title: 'mint an API key', fields: ['address', 'issued'] },
  list: { title: 'list my API keys', fields: ['address', 'issued'] },
  revoke: { title: 'revoke an API key', fields: ['address', 'key', 'issued'] },
  rotate: { title: 'rotate an API key', fields: ['address', 'key', 'issued'] },
  'move-balance': { title: 'move a prepaid balance', fields: ['address', 'key', 'to', 'issued'] },
  'link-payer': {
    title: 'credit my payment to an API key',
    fields: ['address', 'chain', 'transaction', 'key', 'issued'],
  },
  label: { title: 'rename an API key', fields: ['address', 'key', 'issued'] },
  limits: { title: 'change the limits of an API key', fields: ['address', 'key', 'issued'] },
} as const

export type Action = keyof typeof FORMS

export const ACTIONS = Object.keys(FORMS) as readonly Action[]

type Field = (typeof FORMS)[Action]['fields'][number]

export type MessageValues = { readonly [Name in Field]?: string | undefined }

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

/** Long enough to sign on a phone, short enough to limit the use of a stolen signature. */
const AGE_MAX_MS = 5 * 60_000

/** Tolerates clocks that run ahead. */
const AHEAD_MAX_MS = 60_000

/** Joins the lines with LF, without one at the end. */
export function buildMessage(serviceName: string, action: Action, values: MessageValues): string {
  const { title, fields } = FORMS[action]
  const lines = fields.map((field) => `${labelOf(field)}: ${values[field] ?? ''}`)
  return [`${serviceName}: ${title}`, ...lines].join('\n')
}

/** Such as `Address`. */
function labelOf(field: Field): string {
  return field.charAt(0).toUpperCase() + field.slice(1)
}

/** Returns undefined unless the text equals what `buildMessage` writes, byte for byte. */
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
    const value = lines[index]?.slice(field.length + ': '.length)
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
  { ecosystem, clock }: Context,
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
    return refuse('message_wrong_action', `sign one for this action, not for "${message.action}"`)
  const { freshness } = expected
  const ageMaxMs = freshness === 'day' ? DAY_SECONDS * 1_000 : AGE_MAX_MS
  const ageMs = clock() - issuedMs(message.values)
  if (freshness !== 'ignored' && (ageMs > ageMaxMs || ageMs < -AHEAD_MAX_MS))
    return refuse(
      'message_expired',
      `Issued must be within the last ${freshness === 'day' ? 'day' : '5 minutes'}`,
    )
  if (parseAddress(message.values.address ?? '') !== expected.address)
    return refuse('message_address_mismatch', "the message is another wallet's; sign one for yours")
  return message.values
}

/** The first moment at which the message is accepted. */
export function usableFromMs(values: MessageValues): number {
  return issuedMs(values) - AHEAD_MAX_MS
}

function issuedMs(values: MessageValues): number {
  return parseInstant(values.issued ?? '') ?? 0
}

export const SignedBody = Type.Object({
  ownerAddress: Type.String({ maxLength: 64, description: 'The wallet that signs.' }),
  signature: Type.String({ description: 'EIP-191 signature: 130 hex digits, with or without 0x.' }),
  message: Type.String({ maxLength: 1_024, description: 'The exact text that was signed.' }),
})

/** Why `checkSigned` may refuse. */
export const SIGNATURE_REFUSALS = [
  'invalid_address',
  'invalid_signature_format',
  'invalid_signature',
  'message_malformed',
  'message_expired',
  'message_address_mismatch',
  'message_wrong_action',
] as const

export interface SignedMessage {
  readonly wallet: Address
  readonly values: MessageValues
  /** The digest covers message and address, not the signature, because signatures can be re-encoded. */
  readonly digest: string
}

/** Recovers the signer last, because that takes milliseconds. */
export function checkSigned(
  ctx: Context,
  input: Static<typeof SignedBody>,
  expected: { readonly action: Action; readonly freshness: Freshness },
): SignedMessage | Refusal {
  const wallet = parseAddress(input.ownerAddress)
  if (wallet === undefined) return refuse('invalid_address', 'ownerAddress is not a valid address')
  const signature = parseSignature(input.signature)
  if (signature === undefined)
    return refuse(
      'invalid_signature_format',
      'signature must be 130 hex digits, with or without 0x, with low s and v of 27 or 28',
    )
  const values = checkMessage(ctx, input.message, { ...expected, address: wallet })
  if (isRefusal(values)) return values
  if (recoverSigner(input.message, signature) !== wallet)
    return refuse('invalid_signature', 'sign it with the wallet ownerAddress')
  return { wallet, values, digest: hash('sha256', `${wallet}\n${input.message}`, 'hex') }
}

/** Returns undefined if valid. The text binds payer, chain, transaction and key, so a replay is harmless. */
export async function verifyPayerProof(
  ctx: Context,
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
  return refuse('message_wrong_action', 'payerMessage must name this chain, transaction, key')
}

const txHashInQuery: Parameter<Hash | undefined> = {
  in: 'query',
  description: 'The transaction of a payment; only for link-payer.',
  schema: Type.String(),
  parse(raw) {
    if (raw === undefined) return parsed(undefined, null)
    const hash = parseHash(raw)
    if (hash !== undefined) return parsed(hash, hash)
    return { ok: false, reason: 'must be 0x and 64 hex digits' }
  },
}

const PARAMETER_OF: MessageValues = { key: 'publicId', to: 'toPublicId', transaction: 'txHash' }

const MessageAnswer = named('KeyMessage', {
  action: Type.String(),
  message: Type.String({ description: 'Sign exactly this text with personal_sign (EIP-191).' }),
  issuedAt: Type.String({ format: 'date-time' }),
})

export function messageRoute(ctx: Context): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/keys/message',
    operationId: 'getKeyMessage',
    tag: 'Keys',
    summary: 'Get the exact text to sign',
    description:
      'The text is valid for 5 minutes and one use. Each action has its own text, so a signature cannot be used for another action. Sign it only for a service you trust: the signature authorizes spending.',
    metered: false,
    parameters: {
      address: walletInQuery,
      action: actionInQuery,
      publicId: publicIdInQuery('The key to act on.'),
      toPublicId: publicIdInQuery('The key that receives the balance; only for move-balance.'),
      txHash: txHashInQuery,
    },
    answers: { 200: { description: 'The text to sign.', schema: MessageAnswer } },
    refusals: ['invalid_address', 'not_configured'],
    async handle({ parameters }) {
      const { action, address, publicId, toPublicId, txHash } = parameters
      const { gate, payment, service } = ctx.ecosystem
      if (action === 'mint' && gate === null)
        return refuse('not_configured', 'this service does not mint API keys')
      if (action === 'link-payer' && payment === null)
        return refuse('not_configured', 'this service does not take payments')
      // Milliseconds keep two texts of the same second distinct, so that each can be used once.
      const issued = new Date(ctx.clock()).toISOString()
      const values = {
        address: showAddress(address),
        chain: String(payment?.chain.id),
        key: publicId,
        to: toPublicId,
        transaction: txHash,
        issued,
      }
      const missing = FORMS[action].fields.find((field) => values[field] === undefined)
      if (missing !== undefined) {
        const name = PARAMETER_OF[missing] ?? missing
        const reason = `is required for ${action}`
        const errors = [{ in: 'query', name, reason }] as const
        return refuse('invalid_parameter', `${name} ${reason}`, { errors })
      }
      const message = buildMessage(service.name, action, values)
      return answer(200, { action, message, issuedAt: issued })
    },
  })
}

export const publicIdInPath: Parameter<string> = {
  in: 'path',
  description: 'The key: its 8 hex characters.',
  schema: Type.String({ pattern: PUBLIC_ID.source }),
  example: '0a1b2c3d',
  parse: (raw) =>
    raw !== undefined && PUBLIC_ID.test(raw)
      ? parsed(raw, raw)
      : { ok: false, reason: 'must be 8 lower-case hex characters' },
}

function publicIdInQuery(description: string): Parameter<string | undefined> {
  return {
    ...publicIdInPath,
    in: 'query',
    description,
    parse: (raw) => (raw === undefined ? parsed(undefined, null) : publicIdInPath.parse(raw)),
  }
}

export const walletInQuery: Parameter<Address> = {
  ...addressParameter,
  in: 'query',
  description: 'The wallet that will sign. Mixed case must carry the right EIP-55 checksum.',
}

const actionInQuery: Parameter<Action> = {
  in: 'query',
  description: 'The action that the signature allows.',
  schema: Type.String({ enum: [...ACTIONS], default: 'mint' }),
  example: 'mint',
  parse(raw = 'mint') {
    const action = ACTIONS.find((each) => each === raw)
    if (action !== undefined) return parsed(action, action)
    return { ok: false, reason: `must be one of ${ACTIONS.join(', ')}`, allowed: ACTIONS }
  },
}
