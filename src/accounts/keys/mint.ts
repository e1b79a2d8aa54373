import { Type } from 'typebox'
import { Label, NewKey, parseLabel, toKeyRecord, writeOrRefuse } from '#accounts/keys/key-store.ts'
import { readAllowance } from '#accounts/metering/tier.ts'
import type { Context } from '#context.ts'
import { isRefusal } from '#domain/refusal.ts'
import { unixNow } from '#lib/time.ts'
import { answer, defineRoute, type Route } from '#route/route.ts'
import { SIGNED_FIELDS } from './authorise.ts'
import { checkGate } from './gate.ts'
import { insertKey, useMessage } from './key-store.ts'
import { checkSigned, type SignedMessage } from './message.ts'
import { noteKeyChange } from './revoked-keys.ts'

const MintBody = Type.Object({ ...SIGNED_FIELDS, label: Type.Optional(Label) })

const GATED = {
  description:
    "The wallet must hold enough of the ecosystem's tokens; GET /api/meta says how much. ",
  refusals: ['holding_gate_not_met', 'gate_unavailable'],
} as const
const OPEN = { description: '', refusals: [] } as const

export function mintRoute(ctx: Context): Route {
  const { description, refusals } = ctx.ecosystem.gate === 'open' ? OPEN : GATED
  return defineRoute({
    method: 'POST',
    path: '/api/keys',
    operationId: 'mintKey',
    tag: 'Keys',
    summary: 'Mint an API key',
    description: `Sign the text of GET /api/keys/message?action=mint with the wallet that will own the key. ${description}The secret is shown once. If the answer is lost, sign again: the unseen key is listed and can be revoked.`,
    metered: false,
    guard: 'mint',
    parameters: {},
    body: MintBody,
    answers: { 201: { description: 'The new key with its secret.', schema: NewKey } },
    refusals: [
      'invalid_address',
      'invalid_signature_format',
      'invalid_signature',
      'signature_already_used',
      'key_limit_reached',
      'message_malformed',
      'message_expired',
      'message_address_mismatch',
      'message_wrong_action',
      ...refusals,
    ],
    async handle({ body }) {
      const label = parseLabel(body.label)
      if (isRefusal(label)) return label
      const signed = checkSigned(ctx, body, { action: 'mint', freshness: 'required' })
      if (isRefusal(signed)) return signed
      const closed = await checkGate(ctx, signed.wallet)
      if (closed !== undefined) return closed
      // Nothing may fail between the commit and the only answer with the secret.
      const allowance = await readAllowance(ctx, signed.wallet)
      const made = await mintKey(ctx, signed, label)
      if (isRefusal(made)) return made
      const { publicId, wallet: owner } = made.key
      noteKeyChange(ctx, { kind: 'minted', publicId, owner })
      const body201 = { key: toKeyRecord(ctx, made.key, allowance), secret: made.secret }
      return answer(201, body201)
    },
  })
}

function mintKey(ctx: Context, signed: SignedMessage, label: string | null) {
  const { keyPrefix } = ctx.ecosystem.service
  const nowUnix = unixNow(ctx.clock)
  return writeOrRefuse(ctx.accounts, async (connection) => {
    const used = await useMessage(connection, { signed, action: 'mint', nowUnix })
    return (
      used ?? (await insertKey(connection, { keyPrefix, wallet: signed.wallet, label, nowUnix }))
    )
  })
}
