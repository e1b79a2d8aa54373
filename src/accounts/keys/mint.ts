import { Type } from 'typebox'
import {
  insertKey,
  Label,
  NewKey,
  parseLabel,
  toKeyRecord,
  useMessage,
  writeOrRefuse,
} from '#accounts/keys/key-store.ts'
import { SIGNED_FIELDS } from '#accounts/keys/manage-keys.ts'
import { checkSigned, type SignedMessage, walletInQuery } from '#accounts/keys/message.ts'
import {
  gateUnavailable,
  highestTier,
  readAllowance,
  readGate,
  readShares,
} from '#accounts/metering/tier.ts'
import { type Address, showAddress } from '#base/address.ts'
import { isRefusal, type Refusal, refuse } from '#base/refusal.ts'
import { named } from '#base/schema.ts'
import { walletTiers } from '#base/tier.ts'
import { unixNow } from '#base/time.ts'
import type { Context } from '#context.ts'
import { answer, defineRoute, type Route } from '#route.ts'
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
      // Reads the allowance before the commit: after it nothing may fail, because only this answer shows the secret.
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

const Held = named('GateToken', {
  symbol: Type.String(),
  amount: Type.String({ description: 'Token units.' }),
  priceUsd: Type.Number({ description: 'Time-weighted, as the gate counts.' }),
  valueUsd: Type.Number(),
})

const Share = named('GateTier', {
  tier: Type.String(),
  dailyQuota: Type.Integer(),
  symbol: Type.String(),
  held: Type.String({ description: 'Token units.' }),
  needed: Type.String({ description: 'Token units.' }),
  reached: Type.Boolean(),
})

const Gate = named('Gate', {
  address: Type.String(),
  canMint: Type.Boolean(),
  requiredUsd: Type.Union([Type.Number(), Type.Null()], { description: 'Null: anyone may mint.' }),
  heldUsd: Type.Union([Type.Number(), Type.Null()]),
  tokens: Type.Array(Held),
  tier: Type.Enum(walletTiers.map(({ name }) => name)),
  dailyQuota: Type.Integer({ description: 'Calls per UTC day that the tier brings.' }),
  tiers: Type.Array(Share, { description: 'Tiers that ask for a share of the supply.' }),
})

export function gateRoute(ctx: Context): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/keys/gate',
    operationId: 'getGate',
    tag: 'Keys',
    summary: 'See whether a wallet can mint a key',
    description:
      'What the wallet holds, what a key asks for, and its tier, read from our index at the depth and price that minting uses. Free, and strictly limited per address.',
    metered: false,
    guard: 'gate',
    parameters: { address: { ...walletInQuery, description: 'The wallet.' } },
    answers: { 200: { description: 'The gate as this wallet meets it.', schema: Gate } },
    refusals: ['invalid_address', 'gate_unavailable'],
    async handle({ parameters: { address } }) {
      const [held, shares] = await Promise.all([readGate(ctx, address), readShares(ctx, address)])
      if (isRefusal(held)) return held
      if (shares === undefined) return gateUnavailable('The index of holders is not up to date.')
      const { quotas } = ctx.ecosystem
      const tier = highestTier(shares)
      const body = {
        address: showAddress(address),
        ...held,
        tier,
        dailyQuota: quotas[tier],
        tiers: shares.map((share) => ({ ...share, dailyQuota: quotas[share.tier] })),
      }
      return answer(200, body)
    },
  })
}

/** Call only for a verified signer, because the refusal shows what the wallet holds. */
async function checkGate(ctx: Context, wallet: Address): Promise<Refusal | undefined> {
  const verdict = await readGate(ctx, wallet)
  if (isRefusal(verdict)) return verdict
  const { canMint, ...members } = verdict
  if (canMint) return undefined
  const message = `this wallet must hold tokens worth ${members.requiredUsd} USD`
  return refuse('holding_gate_not_met', message, { members })
}
