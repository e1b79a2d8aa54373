import assert from 'node:assert/strict'
import { type Static, Type } from 'typebox'
import {
  changeKey,
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
  toKeyRecord,
  useMessage,
  writeOrRefuse,
} from '#accounts/keys/key-store.ts'
import {
  type Action,
  checkSigned,
  publicIdInPath,
  SIGNATURE_REFUSALS,
  SignedBody,
  type SignedMessage,
} from '#accounts/keys/message.ts'
import { noteKeyChange } from '#accounts/keys/revoked-keys.ts'
import { readSpent } from '#accounts/keys/spending-caps.ts'
import { keyAccount, lockBalances, post } from '#accounts/ledger/ledger.ts'
import { forgetKey } from '#accounts/metering/callers.ts'
import { checkGate, readAllowance } from '#accounts/metering/tier.ts'
import type { Address } from '#base/address.ts'
import { type Caller, PUBLIC_ID } from '#base/caller.ts'
import { type MicroUsd, toUsd } from '#base/money.ts'
import { isRefusal, type Refusal, type RefusalCode, refuse } from '#base/refusal.ts'
import { named } from '#base/schema.ts'
import type { Allowance } from '#base/tier.ts'
import { startOfDay, unixNow } from '#base/time.ts'
import type { Context } from '#context.ts'
import type { Connection } from '#db/engine.ts'
import { sql } from '#db/sql.ts'
import { type Answer, answer, defineRoute, type RequestHeaders, type Route } from '#route.ts'

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
      200: { description: 'The revoked key.', schema: named('RevokedApiKey', { key: KeyRecord }) },
    },
    refusals: [...AUTHORITY_REFUSALS, 'key_not_found'],
    handle: (asked) =>
      actOnKey(ctx, 'revoke', asked, async (connection, key, { nowUnix }) => {
        const { publicId, wallet: owner } = key
        const revoked = await markRevoked(connection, { publicId, nowUnix })
        return (allowance) => {
          if (revoked !== undefined) {
            forgetKey(ctx, key.secretDigest)
            noteKeyChange(ctx, { kind: 'revoked', publicId, owner })
          }
          return answer(200, { key: toKeyRecord(ctx, revoked ?? key, allowance) })
        }
      }),
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
    handle: (asked) =>
      actOnKey(ctx, 'rotate', asked, async (connection, old, { nowUnix }) => {
        const { publicId, wallet: owner } = old
        const revoked = await markRevoked(connection, { publicId, nowUnix })
        if (revoked === undefined) return refuse('key_revoked', 'this key is revoked; mint a key')
        const past = await listRotations(connection, publicId)
        if (past.length > ROTATIONS_MAX)
          return refuse(
            'key_limit_reached',
            `this key was rotated ${ROTATIONS_MAX} times, the maximum; mint a new key`,
          )
        const limits = await carryLimits(connection, old, nowUnix)
        const made = await insertKey(connection, { ...old, keyPrefix, limits, nowUnix })
        if (isRefusal(made)) return made
        const { publicId: successor } = made.key
        await changeKey(connection, old, sql`successor = ${successor}`)
        const id = `rotate:${successor}`
        await moveWholeBalance(connection, { id, from: publicId, to: successor, nowUnix })
        return (allowance) => {
          forgetKey(ctx, old.secretDigest)
          noteKeyChange(ctx, { kind: 'rotated', publicId, owner, successor })
          return answerNewKey(ctx, made, allowance)
        }
      }),
  })
}

/** Copies the old key's limits and what it spent today to the new key. */
async function carryLimits(connection: Connection, key: Key, nowUnix: number) {
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
    async handle(asked) {
      const label = parseLabel(asked.body.label)
      if (isRefusal(label)) return label
      return actOnKey(ctx, 'label', asked, async (connection, key) => {
        await changeKey(connection, key, sql`label = ${label}`)
        return (allowance) => answer(200, { key: toKeyRecord(ctx, { ...key, label }, allowance) })
      })
    },
  })
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
      ...SignedBody.properties,
      toPublicId: Type.String({ pattern: PUBLIC_ID.source, description: 'The receiving key.' }),
    }),
    answers: { 200: { description: 'What was moved.', schema: Moved } },
    refusals: [...AUTHORITY_REFUSALS, 'key_not_found', 'key_revoked'],
    async handle(asked) {
      const { publicId } = asked.parameters
      const { toPublicId } = asked.body
      if (toPublicId === publicId) return refuse('invalid_body', 'toPublicId must be another key')
      return actOnKey(
        ctx,
        'move-balance',
        { ...asked, toPublicId },
        async (connection, from, { nowUnix, message }) => {
          // Locked too: a concurrent rotation would leave the money on a revoked key.
          const to = await findKey(connection, toPublicId)
          if (to === undefined) return refuse('key_not_found', 'no key has this toPublicId')
          if (to.wallet !== from.wallet)
            return refuse('not_key_owner', 'toPublicId belongs to another wallet')
          if (to.revokedUnix !== null) return refuse('key_revoked', 'toPublicId is revoked')
          const move = { id: message, from: publicId, to: toPublicId, nowUnix }
          const moved = await moveWholeBalance(connection, move)
          return () => answer(200, { fromPublicId: publicId, toPublicId, movedUsd: toUsd(moved) })
        },
      )
    },
  })
}

/** Moves the balance to another key of the wallet, and returns the amount. */
export async function moveWholeBalance(
  connection: Connection,
  input: Readonly<Record<'id' | 'from' | 'to', string>> & { readonly nowUnix: number },
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
      const authority = authorise(ctx, 'list', { caller, body: readProof(headers) })
      if (isRefusal(authority)) return authority
      const { wallet, signed } = authority
      const allowance = await readAllowance(ctx, wallet)
      const nowUnix = unixNow(ctx.clock)
      const listed = await writeOrRefuse(ctx.accounts, async (connection) => {
        const used = signed && (await useMessage(connection, { signed, action: 'list', nowUnix }))
        return used ?? (await listKeys(connection, wallet))
      })
      if (isRefusal(listed)) return listed
      const keys = listed.map((key) => ({
        ...toKeyRecord(ctx, key, allowance),
        prepaidBalanceUsd: toUsd(key.balance),
      }))
      return answer(200, { keys })
    },
  })
}

function readProof(headers: RequestHeaders): OwnerProof {
  const [ownerAddress, signature, message] = ['address', 'signature', 'message'].map((name) =>
    headers[`x-wallet-${name}`]?.toString(),
  )
  return {
    ownerAddress,
    signature,
    message: message && Buffer.from(message, 'base64url').toString('utf8'),
  }
}

/** The three members are sent together or not at all. */
export const ProofBody = Type.Partial(SignedBody)

type OwnerProof = { readonly [Name in keyof Static<typeof SignedBody>]?: string | undefined }

interface Authority {
  readonly wallet: Address
  /** Undefined for a wallet, which controls all its keys. */
  readonly publicId: string | undefined
  readonly signed: SignedMessage | undefined
}

export const AUTHORITY_REFUSALS: readonly RefusalCode[] = [
  ...SIGNATURE_REFUSALS,
  'signature_already_used',
  'not_key_owner',
]

interface Asked {
  readonly caller: Caller
  readonly body: OwnerProof
  /** The second key of a move. */
  readonly toPublicId?: string
}

/** Authorises by the signature if one was sent, else by the Authorization header. */
export function authorise(
  ctx: Context,
  action: Action,
  { caller, body, publicId, toPublicId }: Asked & { readonly publicId?: string },
): Authority | Refusal {
  const { ownerAddress, signature, message } = body
  if ((ownerAddress ?? signature ?? message) === undefined) {
    if (caller.kind === 'keyed')
      return { wallet: caller.wallet, publicId: caller.publicId, signed: undefined }
    return refuse('invalid_signature', 'sign the message of this action with the owning wallet')
  }
  if (ownerAddress === undefined || signature === undefined || message === undefined)
    return refuse('invalid_body', 'send ownerAddress, signature and message together')
  const proof = { ownerAddress, signature, message }
  const signed = checkSigned(ctx, proof, { action, freshness: 'required' })
  if (isRefusal(signed)) return signed
  if (signed.values.key !== publicId || signed.values.to !== toPublicId)
    return refuse('message_wrong_action', 'the message is for another key; sign one for this key')
  return { wallet: signed.wallet, publicId: undefined, signed }
}

/**
 * `act` returns what is done and answered once it is committed. The allowance is read before: after the commit nothing
 * may fail, since the answer may hold a secret.
 */
export async function actOnKey(
  ctx: Context,
  action: Action,
  asked: Asked & { readonly parameters: { readonly publicId: string } },
  act: (
    connection: Connection,
    key: Key,
    by: { readonly nowUnix: number; readonly message: string },
  ) => Promise<((allowance: Allowance) => Answer) | Refusal>,
): Promise<Answer | Refusal> {
  const { publicId } = asked.parameters
  const authority = authorise(ctx, action, { ...asked, publicId })
  if (isRefusal(authority)) return authority
  const allowance = await readAllowance(ctx, authority.wallet)
  const nowUnix = unixNow(ctx.clock)
  const finish = await writeOrRefuse(ctx.accounts, async (connection) => {
    const found = await useAuthority(connection, authority, { action, publicId, nowUnix })
    if (isRefusal(found)) return found
    // In name order, as the meter locks them.
    for (const each of [publicId, asked.toPublicId ?? publicId].sort())
      await lockKey(connection, each)
    // Reads the row again under the lock, because a concurrent change must survive a rotation.
    const key = (await findKey(connection, publicId)) ?? found
    return act(connection, key, { nowUnix, message: authority.signed?.digest ?? '' })
  })
  return isRefusal(finish) ? finish : finish(allowance)
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

const MintBody = Type.Object({ ...SignedBody.properties, label: Type.Optional(Label) })

const GATED = "The wallet must hold enough of the ecosystem's tokens; GET /api/meta says how much. "

const GATE_REFUSALS = ['holding_gate_not_met', 'gate_unavailable'] as const

export function mintRoute(ctx: Context): Route {
  const isOpen = ctx.ecosystem.gate === 'open'
  return defineRoute({
    method: 'POST',
    path: '/api/keys',
    operationId: 'mintKey',
    tag: 'Keys',
    summary: 'Mint an API key',
    description: `Sign the text of GET /api/keys/message?action=mint with the wallet that will own the key. ${isOpen ? '' : GATED}The secret is shown once. If the answer is lost, sign again: the unseen key is listed and can be revoked.`,
    metered: false,
    guard: 'mint',
    parameters: {},
    body: MintBody,
    answers: { 201: { description: 'The new key with its secret.', schema: NewKey } },
    refusals: [
      'signature_already_used',
      'key_limit_reached',
      ...SIGNATURE_REFUSALS,
      ...(isOpen ? [] : GATE_REFUSALS),
    ],
    async handle({ body }) {
      const label = parseLabel(body.label)
      if (isRefusal(label)) return label
      const signed = checkSigned(ctx, body, { action: 'mint', freshness: 'required' })
      if (isRefusal(signed)) return signed
      const { wallet } = signed
      const closed = await checkGate(ctx, wallet)
      if (closed !== undefined) return closed
      // Reads the allowance before the commit: after it nothing may fail, because only this answer shows the secret.
      const allowance = await readAllowance(ctx, wallet)
      const { keyPrefix } = ctx.ecosystem.service
      const nowUnix = unixNow(ctx.clock)
      const made = await writeOrRefuse(ctx.accounts, async (connection) => {
        const used = await useMessage(connection, { signed, action: 'mint', nowUnix })
        return used ?? (await insertKey(connection, { keyPrefix, wallet, label, nowUnix }))
      })
      if (isRefusal(made)) return made
      noteKeyChange(ctx, { kind: 'minted', publicId: made.key.publicId, owner: wallet })
      return answerNewKey(ctx, made, allowance)
    },
  })
}

function answerNewKey(
  ctx: Context,
  { key, secret }: { readonly key: Key; readonly secret: string },
  allowance: Allowance,
): Answer {
  return answer(201, { key: toKeyRecord(ctx, key, allowance), secret })
}
