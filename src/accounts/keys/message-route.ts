import { Type } from 'typebox'
import { ACTIONS } from '#accounts/keys/message.ts'
import type { Context } from '#context.ts'
import { type Address, type Hash, parseAddress, parseHash, showAddress } from '#domain/address.ts'
import { PUBLIC_ID } from '#domain/caller.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { named } from '#lib/schema.ts'
import { answer, defineRoute, type Parameter, parsed, type Route } from '#route/route.ts'
import { type Action, buildMessage, fieldsOf, type MessageValues } from './message.ts'

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

const PARAMETER_OF = { key: 'publicId', to: 'toPublicId', transaction: 'txHash' } as const

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
      const { action, address } = parameters
      const missing = refuseMissing(ctx, action)
      if (missing !== undefined) return missing
      // Milliseconds make texts of one second differ; each is valid once.
      const issued = new Date(ctx.clock()).toISOString()
      const known: MessageValues = {
        address: showAddress(address),
        chain: String(ctx.ecosystem.payment?.chain.id ?? ''),
        issued,
      }
      const values = complete(known, parameters, action)
      if ('kind' in values) return values
      const message = buildMessage(ctx.ecosystem.service.name, action, values)
      return answer(200, { action, message, issuedAt: issued })
    },
  })
}

/** Refuses unavailable actions before anyone signs. */
function refuseMissing(
  { ecosystem: { gate, payment } }: Context,
  action: Action,
): Refusal | undefined {
  if (action === 'mint' && gate === null)
    return refuse('not_configured', 'this service does not mint API keys')
  if (action === 'link-payer' && payment === null)
    return refuse('not_configured', 'this service does not take payments')
  return undefined
}

type Asked = Readonly<Partial<Record<'publicId' | 'toPublicId' | 'txHash', string | undefined>>>

function complete(known: MessageValues, asked: Asked, action: Action): MessageValues | Refusal {
  const values: Record<string, string> = { ...known }
  for (const field of fieldsOf(action)) {
    if (field !== 'key' && field !== 'to' && field !== 'transaction') continue
    const name = PARAMETER_OF[field]
    const value = asked[name]
    if (value === undefined)
      return refuse('invalid_parameter', `${name} is required for ${action}`, {
        errors: [{ in: 'query', name, reason: `is required for ${action}` }],
      })
    values[field] = value
  }
  return values
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
  in: 'query',
  description: 'The wallet that will sign. Mixed case must carry the right EIP-55 checksum.',
  schema: Type.String(),
  example: '0x52908400098527886E0F7030069857D2E4169EE7',
  parse(raw) {
    const wallet = parseAddress(raw ?? '')
    if (wallet !== undefined) return parsed(wallet, wallet)
    return {
      ok: false,
      code: 'invalid_address',
      reason: 'must be an address: 0x and 40 hex digits',
    }
  },
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
