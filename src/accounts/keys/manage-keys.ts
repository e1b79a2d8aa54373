import assert from 'node:assert/strict'
import { type Static, Type } from 'typebox'
import {
  findKey,
  insertKey,
  type Key,
  KeyRecord,
  Label,
  listKeys,
  listRotations,
  lockKey,
  markRevoked,
  NewKey,
  parseLabel,
  ROTATIONS_MAX,
  recordSuccessor,
  setLabel,
  toKeyRecord,
  useMessage,
  writeOrRefuse,
} from '#accounts/keys/key-store.ts'
import {
  type Action,
  checkSigned,
  publicIdInPath,
  type SignedMessage,
  walletInQuery,
} from '#accounts/keys/message.ts'
import { noteKeyChange } from '#accounts/keys/revoked-keys.ts'
import { readSpent } from '#accounts/keys/spending-caps.ts'
import { keyAccount, lockBalances, post } from '#accounts/ledger/ledger.ts'
import { forgetKey } from '#accounts/metering/callers.ts'
import {
  gateUnavailable,
  highestTier,
  readAllowance,
  readGate,
  readShares,
} from '#accounts/metering/tier.ts'
import { type Address, showAddress } from '#base/address.ts'
import { type Caller, PUBLIC_ID } from '#base/caller.ts'
import type { KeyLimits } from '#base/key-limits.ts'
import { type MicroUsd, toUsd } from '#base/money.ts'
import { isRefusal, type Refusal, type RefusalCode, refuse } from '#base/refusal.ts'
import { named } from '#base/schema.ts'
import { type Allowance, walletTiers } from '#base/tier.ts'
import { startOfDay, unixNow } from '#base/time.ts'
import type { Context } from '#context.ts'
import type { Connection } from '#db/engine.ts'
import { answer, defineRoute, type RequestHeaders, type Route } from '#route.ts'

const OWNER = {
  method: 'POST',
  tag: 'Keys',
  metered: false,
  guard: 'mint',
  parameters: { publicId: publicIdInPath },
} as const

export function revokeRoute(ctx: Context): Route {
  return defineRoute({
    ...OWNER,
    path: '/api/keys/{publicId}/revoke',
    operationId: 'revokeKey',
    summary: 'Revoke a key',
    description:
      'Send the key itself as Bearer, or the signed text of GET /api/keys/message?action=revoke. From then on the key gets 401. Its balance stays and can be moved by the wallet.',
    body: ProofBody,
    answers: {
      200: {
        description: 'The revoked key.',
        schema: named('RevokedApiKey', { key: KeyRecord }),
      },
    },
    refusals: [...AUTHORITY_REFUSALS, 'key_not_found'],
    async handle({ parameters: { publicId }, caller, body }) {
      const input = { action: 'revoke', publicId, caller, proof: body } as const
      const outcome = await actOnKey(ctx, input, async (connection, key, { nowUnix }) => {
        const digest = await markRevoked(connection, { publicId, nowUnix })
        return { key: { ...key, revokedUnix: key.revokedUnix ?? nowUnix }, digest }
      })
      if (isRefusal(outcome)) return outcome
      if (outcome.digest !== undefined) {
        forgetKey(ctx, outcome.digest)
        noteKeyChange(ctx, { kind: 'revoked', publicId, owner: outcome.key.wallet })
      }
      return answer(200, { key: toKeyRecord(ctx, outcome.key, outcome.allowance) })
    },
  })
}

export function rotateRoute(ctx: Context): Route {
  const { keyPrefix } = ctx.ecosystem.service
  return defineRoute({
    ...OWNER,
    path: '/api/keys/{publicId}/rotate',
    operationId: 'rotateKey',
    summary: 'Replace a key',
    description:
      'Makes a new key with the same label, moves the balance to it and revokes the old one, all at once. Send the key itself as Bearer, or the signed text of GET /api/keys/message?action=rotate.',
    body: ProofBody,
    answers: { 201: { description: 'The new key with its secret.', schema: NewKey } },
    refusals: [...AUTHORITY_REFUSALS, 'key_not_found', 'key_revoked', 'key_limit_reached'],
    async handle({ parameters: { publicId }, caller, body }) {
      const input = { action: 'rotate', publicId, caller, proof: body } as const
      const outcome = await actOnKey(ctx, input, async (connection, old, { nowUnix }) => {
        const digest = await markRevoked(connection, { publicId, nowUnix })
        if (digest === undefined) return refuse('key_revoked', 'this key is revoked; mint a key')
        const past = await listRotations(connection, publicId)
        if (past.length > ROTATIONS_MAX) return refuseRotation()
        const limits = await carryLimits(connection, old, nowUnix)
        const made = await insertKey(connection, { ...old, keyPrefix, limits, nowUnix })
        if (isRefusal(made)) return made
        const to = made.key.publicId
        await recordSuccessor(connection, { publicId, successor: to })
        await moveWholeBalance(connection, { id: `rotate:${to}`, from: publicId, to, nowUnix })
        return { ...made, digest }
      })
      if (isRefusal(outcome)) return outcome
      forgetKey(ctx, outcome.digest)
      const { publicId: successor, wallet: owner } = outcome.key
      noteKeyChange(ctx, { kind: 'rotated', publicId, owner, successor })
      const key = toKeyRecord(ctx, outcome.key, outcome.allowance)
      return answer(201, { key, secret: outcome.secret })
    },
  })
}

/** Copies the old key's limits and what it spent today to the new key. */
async function carryLimits(
  connection: Connection,
  key: Key,
  nowUnix: number,
): Promise<KeyLimits | undefined> {
  const day = startOfDay(nowUnix)
  const microUsd = (await readSpent(connection, day, [key])).get(key.publicId) ?? 0n
  return microUsd === 0n ? key.limits : { ...key.limits, spentBefore: { day, microUsd } }
}

export function labelRoute(ctx: Context): Route {
  return defineRoute({
    ...OWNER,
    path: '/api/keys/{publicId}/label',
    operationId: 'labelKey',
    summary: 'Rename a key',
    description:
      'Sets or clears the label. Send the key itself as Bearer, or the signed text of GET /api/keys/message?action=label.',
    body: Type.Object({ ...ProofBody.properties, label: Label }),
    answers: {
      200: { description: 'The renamed key.', schema: named('LabeledApiKey', { key: KeyRecord }) },
    },
    refusals: [...AUTHORITY_REFUSALS, 'key_not_found'],
    async handle({ parameters: { publicId }, caller, body }) {
      const label = parseLabel(body.label)
      if (isRefusal(label)) return label
      const input = { action: 'label', publicId, caller, proof: body } as const
      const outcome = await actOnKey(ctx, input, async (connection, key) => {
        await setLabel(connection, { publicId, label })
        return { key: { ...key, label } }
      })
      if (isRefusal(outcome)) return outcome
      return answer(200, { key: toKeyRecord(ctx, outcome.key, outcome.allowance) })
    },
  })
}

function refuseRotation(): Refusal {
  return refuse(
    'key_limit_reached',
    `this key was rotated ${ROTATIONS_MAX} times, the maximum; mint a new key`,
  )
}

const Moved = named('MovedBalance', {
  fromPublicId: Type.String(),
  toPublicId: Type.String(),
  movedUsd: Type.Number(),
})

export function moveBalanceRoute(ctx: Context): Route {
  return defineRoute({
    ...OWNER,
    path: '/api/keys/{publicId}/move-balance',
    operationId: 'moveBalance',
    summary: 'Move the balance of a key',
    description:
      'Moves the whole balance of a key, revoked or not, to an active key of the same wallet. Needs the signed text of GET /api/keys/message?action=move-balance; a key alone cannot do it.',
    body: Type.Object({
      ...SIGNED_FIELDS,
      toPublicId: Type.String({ pattern: PUBLIC_ID.source, description: 'The receiving key.' }),
    }),
    answers: { 200: { description: 'What was moved.', schema: Moved } },
    refusals: [...AUTHORITY_REFUSALS, 'key_not_found', 'key_revoked'],
    async handle({ parameters: { publicId }, caller, body }) {
      const { toPublicId, ...proof } = body
      if (toPublicId === publicId) return refuse('invalid_body', 'toPublicId must be another key')
      const input = { action: 'move-balance', publicId, toPublicId, caller, proof } as const
      const outcome = await actOnKey(ctx, input, async (connection, from, { nowUnix, message }) => {
        // Locked too: a concurrent rotation would leave the money on a revoked key.
        const to = await findKey(connection, toPublicId)
        if (to === undefined) return refuse('key_not_found', 'no key has this toPublicId')
        if (to.wallet !== from.wallet)
          return refuse('not_key_owner', 'toPublicId belongs to another wallet')
        if (to.revokedUnix !== null) return refuse('key_revoked', 'toPublicId is revoked')
        const move = { id: message, from: publicId, to: toPublicId, nowUnix }
        return { moved: await moveWholeBalance(connection, move) }
      })
      if (isRefusal(outcome)) return outcome
      const movedUsd = toUsd(outcome.moved)
      return answer(200, { fromPublicId: publicId, toPublicId, movedUsd })
    },
  })
}

/** Moves the balance to another key of the wallet, and returns the amount. */
export async function moveWholeBalance(
  connection: Connection,
  input: {
    readonly id: string
    readonly from: string
    readonly to: string
    readonly nowUnix: number
  },
): Promise<MicroUsd> {
  const [from, to] = [keyAccount(input.from), keyAccount(input.to)]
  const amount = (await lockBalances(connection, [from, to])).get(from) ?? 0n
  if (amount === 0n) return 0n
  const isNew = await post(connection, {
    id: `move:${input.id}`,
    kind: 'move',
    reference: input.from,
    createdUnix: input.nowUnix,
    postings: [
      { account: from, microUsd: -amount },
      { account: to, microUsd: amount },
    ],
  })
  assert(isNew, `move ${input.id} was posted before`)
  return amount
}

const ListedKey = named('ListedApiKey', {
  ...KeyRecord.properties,
  prepaidBalanceUsd: Type.Number({ description: 'The prepaid balance of this key.' }),
})

const KeyList = named('ApiKeyList', { keys: Type.Array(ListedKey) })

export function listRoute(ctx: Context): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/keys',
    operationId: 'listKeys',
    tag: 'Keys',
    summary: 'List the keys of a wallet',
    description:
      'Give a key of the wallet as Bearer, or sign the text of GET /api/keys/message?action=list and send the headers X-Wallet-Address, X-Wallet-Message (the text in base64url) and X-Wallet-Signature. Revoked keys are listed too; secrets never.',
    metered: false,
    guard: 'mint',
    parameters: {},
    answers: { 200: { description: 'All keys of the wallet, newest first.', schema: KeyList } },
    refusals: AUTHORITY_REFUSALS,
    async handle({ headers, caller }) {
      const proof = readProof(headers)
      const authority = authorise(ctx, { action: 'list', caller, proof, named: {} })
      if (isRefusal(authority)) return authority
      const { wallet, signed } = authority
      const allowance = await readAllowance(ctx, wallet)
      const nowUnix = unixNow(ctx.clock)
      const listed = await writeOrRefuse(ctx.accounts, async (connection) => {
        const used = signed && (await useMessage(connection, { signed, action: 'list', nowUnix }))
        return used ?? (await listKeys(connection, wallet))
      })
      if (isRefusal(listed)) return listed
      const keys = listed.map(({ key, balance }) => ({
        ...toKeyRecord(ctx, key, allowance),
        prepaidBalanceUsd: toUsd(balance),
      }))
      return answer(200, { keys })
    },
  })
}

function readProof(headers: RequestHeaders): OwnerProof {
  const ownerAddress = only(headers['x-wallet-address'])
  const signature = only(headers['x-wallet-signature'])
  const message = only(headers['x-wallet-message'])
  return {
    ...(ownerAddress === undefined ? {} : { ownerAddress }),
    ...(signature === undefined ? {} : { signature }),
    ...(message === undefined
      ? {}
      : { message: Buffer.from(message, 'base64url').toString('utf8') }),
  }
}

function only(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' || header === undefined ? header : header.join(',')
}

export const SIGNED_FIELDS = {
  ownerAddress: Type.String({ maxLength: 64, description: 'The wallet that signs.' }),
  signature: Type.String({ description: 'EIP-191 signature: 130 hex digits, with or without 0x.' }),
  message: Type.String({ maxLength: 1_024, description: 'The exact text that was signed.' }),
}

/** The three members are sent together or not at all. */
export const ProofBody = Type.Partial(Type.Object(SIGNED_FIELDS))

export type OwnerProof = Static<typeof ProofBody>

export interface Authority {
  readonly wallet: Address
  /** Undefined for a wallet, which controls all its keys. */
  readonly publicId: string | undefined
  readonly signed: SignedMessage | undefined
}

export const AUTHORITY_REFUSALS: readonly RefusalCode[] = [
  'invalid_address',
  'invalid_signature_format',
  'invalid_signature',
  'message_malformed',
  'message_expired',
  'message_address_mismatch',
  'message_wrong_action',
  'signature_already_used',
  'not_key_owner',
]

interface NamedKeys {
  readonly key?: string
  readonly to?: string
}

/** Authorises by the signature if one was sent, else by the Authorization header. */
export function authorise(
  ctx: Context,
  input: {
    readonly action: Action
    readonly caller: Caller
    readonly proof: OwnerProof
    readonly named: NamedKeys
  },
): Authority | Refusal {
  const { ownerAddress, signature, message } = input.proof
  const given = [ownerAddress, signature, message].filter((each) => each !== undefined).length
  if (given === 0) {
    const { caller } = input
    if (caller.kind === 'keyed')
      return { wallet: caller.wallet, publicId: caller.publicId, signed: undefined }
    return refuse('invalid_signature', 'sign the message of this action with the owning wallet')
  }
  if (ownerAddress === undefined || signature === undefined || message === undefined)
    return refuse('invalid_body', 'send ownerAddress, signature and message together')
  const proof = { ownerAddress, signature, message }
  const signed = checkSigned(ctx, proof, { action: input.action, freshness: 'required' })
  if (isRefusal(signed)) return signed
  if (signed.values.key !== input.named.key || signed.values.to !== input.named.to)
    return refuse('message_wrong_action', 'the message is for another key; sign one for this key')
  return { wallet: signed.wallet, publicId: undefined, signed }
}

/** Reads the allowance first: after the commit nothing may fail, since the answer may hold a secret. */
export async function actOnKey<T>(
  ctx: Context,
  input: {
    readonly action: Action
    readonly publicId: string
    readonly toPublicId?: string
    readonly caller: Caller
    readonly proof: OwnerProof
  },
  act: (
    connection: Connection,
    key: Key,
    by: { readonly nowUnix: number; readonly message: string },
  ) => Promise<T | Refusal>,
): Promise<(T & { readonly allowance: Allowance }) | Refusal> {
  const { action, publicId, toPublicId: to } = input
  const authority = authorise(ctx, { ...input, named: { key: publicId, ...(to && { to }) } })
  if (isRefusal(authority)) return authority
  const allowance = await readAllowance(ctx, authority.wallet)
  const nowUnix = unixNow(ctx.clock)
  const outcome = await writeOrRefuse(ctx.accounts, async (connection) => {
    const found = await useAuthority(connection, authority, { action, publicId, nowUnix })
    if (isRefusal(found)) return found
    // In name order, as the meter locks them.
    for (const each of [publicId, to ?? publicId].sort()) await lockKey(connection, each)
    // Reads the row again under the lock, because a concurrent change must survive a rotation.
    const key = (await findKey(connection, publicId)) ?? found
    return act(connection, key, { nowUnix, message: authority.signed?.digest ?? '' })
  })
  return isRefusal(outcome) ? outcome : { ...outcome, allowance }
}

/** Consumes the signature within the acting transaction. */
export async function useAuthority(
  connection: Connection,
  authority: Authority,
  input: { readonly action: Action; readonly publicId: string; readonly nowUnix: number },
): Promise<Key | Refusal> {
  const key = await findKey(connection, input.publicId)
  if (key === undefined) return refuse('key_not_found', 'no key has this publicId')
  const { publicId, signed } = authority
  if (key.wallet !== authority.wallet)
    return refuse('not_key_owner', 'another wallet owns this key: sign with that one')
  if (publicId !== undefined && publicId !== key.publicId)
    return refuse('not_key_owner', 'this is another key of your wallet: sign with the wallet')
  const used = signed && (await useMessage(connection, { ...input, signed }))
  return used ?? key
}

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
