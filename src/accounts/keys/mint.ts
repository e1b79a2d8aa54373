import { Type } from 'typebox'
import type { Address } from '#domain/address.ts'
import { type MicroUsd, toUsd } from '#domain/money.ts'
import { isRefusal, type Refusal, refuse } from '#domain/refusal.ts'
import { formatDecimal } from '#lib/decimal.ts'
import { named } from '#lib/schema.ts'
import { unixNow } from '#lib/time.ts'
import { answer, defineRoute, type Route } from '#route/route.ts'
import type { KeyDeps } from './authorise.ts'
import { KeyRecord, toKeyRecord } from './key-record.ts'
import { insertKey, useMessage } from './key-store.ts'
import { Label, parseLabel, refuseLabel } from './label.ts'
import { checkSigned, type SignedMessage } from './signed-message.ts'
import { writeOrRefuse } from './write-or-refuse.ts'

/** The only answers with a secret. */
export const NewKey = named('NewApiKey', {
  key: KeyRecord,
  secret: Type.String({ description: 'Shown once; only its hash is kept.' }),
})

export const SIGNED_FIELDS = {
  ownerAddress: Type.String({ maxLength: 64, description: 'The wallet that signs.' }),
  signature: Type.String({
    description: 'EIP-191 signature: 130 hex digits, with or without 0x.',
  }),
  message: Type.String({ maxLength: 1_024, description: 'The exact text that was signed.' }),
}

const MintBody = Type.Object({ ...SIGNED_FIELDS, label: Type.Optional(Label) })

export type GateHoldings =
  | {
      readonly kind: 'ready'
      readonly heldUsd: MicroUsd
      readonly tokens: readonly Readonly<Record<string, unknown>>[]
    }
  | { readonly kind: 'unavailable'; readonly message: string }

/** Holders of a minimum, any wallet (`open`), or no one (null). */
export type MintGate =
  | {
      /** Inclusive. */
      readonly minimum: MicroUsd
      readonly holdings: (wallet: Address) => Promise<GateHoldings>
    }
  | 'open'
  | null

interface MintDeps extends KeyDeps {
  readonly gate: NonNullable<MintGate>
}

const GATED = {
  description:
    "The wallet must hold enough of the ecosystem's tokens; GET /api/meta says how much. ",
  refusals: ['holding_gate_not_met', 'gate_unavailable'],
} as const
const OPEN = { description: '', refusals: [] } as const

export function mintRoute(deps: MintDeps): Route {
  const { description, refusals } = deps.gate === 'open' ? OPEN : GATED
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
      if (label === undefined) return refuseLabel()
      const signed = checkSigned(deps, body, { action: 'mint', freshness: 'required' })
      if (isRefusal(signed)) return signed
      const closed = await checkGate(deps.gate, signed.wallet)
      if (closed !== undefined) return closed
      // Nothing may fail between the commit and the only answer with the secret.
      const allowance = await deps.callers.allowanceOf(signed.wallet)
      const made = await mintKey(deps, signed, label)
      if (isRefusal(made)) return made
      const { publicId, wallet: owner } = made.key
      deps.onKeyChange?.({ kind: 'minted', publicId, owner })
      const body201 = { key: toKeyRecord(deps, made.key, allowance), secret: made.secret }
      return answer(201, body201, { headers: { 'Cache-Control': 'no-store' } })
    },
  })
}

/** Runs for a proven signer only, so that errors reveal nothing about other wallets. */
async function checkGate(
  gate: NonNullable<MintGate>,
  wallet: Address,
): Promise<Refusal | undefined> {
  if (gate === 'open') return undefined
  const holdings = await gate.holdings(wallet)
  if (holdings.kind === 'unavailable')
    return refuse('gate_unavailable', holdings.message, { retryAfterSeconds: 30 })
  if (holdings.heldUsd >= gate.minimum) return undefined
  const required = formatDecimal(gate.minimum, 6)
  return refuse('holding_gate_not_met', `this wallet must hold tokens worth ${required} USD`, {
    members: {
      requiredUsd: toUsd(gate.minimum),
      heldUsd: toUsd(holdings.heldUsd),
      tokens: holdings.tokens,
    },
  })
}

function mintKey(deps: KeyDeps, signed: SignedMessage, label: string | null) {
  const nowUnix = unixNow(deps.clock)
  return writeOrRefuse(deps.engine, async (connection) => {
    const used = await useMessage(connection, { signed, action: 'mint', nowUnix })
    return used ?? (await insertKey(connection, deps, { wallet: signed.wallet, label, nowUnix }))
  })
}
