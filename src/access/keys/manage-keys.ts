import { toUsd } from '#domain/money.ts'
import { isRefusal, refuse } from '#domain/refusal.ts'
import { type Answer, answer, defineRoute, type Route } from '#http/route.ts'
import { unixNow } from '#lib/clock.ts'
import { Type } from '#lib/type.ts'
import type { AccessDeps } from '../access-deps.ts'
import { AUTHORITY_REFUSALS, authorise, checkNamed, useAuthority } from '../callers/authorise.ts'
import { KeyRecord, toKeyRecord } from './key-record.ts'
import { findKeysByDigest, insertKey, lockKey, markRevoked, recordSuccessor } from './key-store.ts'
import { NewKey, SIGNED_FIELDS } from './mint.ts'
import { moveWholeBalance } from './move-whole-balance.ts'
import { publicIdInPath } from './parameters.ts'
import { isSecret, secretDigest } from './secret.ts'
import { writeOrRefuse } from './write-or-refuse.ts'

const ProofBody = Type.Object(
  {
    ownerAddress: Type.Optional(SIGNED_FIELDS.ownerAddress),
    signature: Type.Optional(SIGNED_FIELDS.signature),
    message: Type.Optional(SIGNED_FIELDS.message),
  },
  { additionalProperties: false },
)

const NO_STORE = { headers: { 'Cache-Control': 'no-store' } }

const OWNER = {
  method: 'POST',
  tag: 'Keys',
  metered: false,
  guard: 'mint',
  parameters: { publicId: publicIdInPath },
} as const

/** POST /api/keys/{publicId}/revoke */
export function revokeRoute(deps: AccessDeps): Route {
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
        schema: Type.Object({ key: KeyRecord }, { additionalProperties: false }),
      },
    },
    refusals: [...AUTHORITY_REFUSALS, 'key_not_found'],
    async handle({ parameters: { publicId }, caller, body }) {
      const action = 'revoke'
      const authority = await authorise(deps, { action, caller, proof: body })
      if (isRefusal(authority)) return authority
      const misnamed = checkNamed(authority, { key: publicId })
      if (misnamed !== undefined) return misnamed
      // Before the commit: nothing may fail between it and the answer, perhaps with a secret.
      const tier = await deps.callers.tierOf(authority.wallet)
      const nowUnix = unixNow(deps.clock)
      const outcome = await writeOrRefuse(deps.engine, async (connection) => {
        const key = await useAuthority(connection, authority, { action, publicId, nowUnix })
        if (isRefusal(key)) return key
        const digest = await markRevoked(connection, { publicId, nowUnix })
        return { key: { ...key, revokedUnix: key.revokedUnix ?? nowUnix }, digest }
      })
      if (isRefusal(outcome)) return outcome
      if (outcome.digest !== undefined) deps.callers.forget(outcome.digest)
      return answer(200, { key: toKeyRecord(deps, outcome.key, tier) }, NO_STORE)
    },
  })
}

/** POST /api/keys/{publicId}/rotate */
export function rotateRoute(deps: AccessDeps): Route {
  return defineRoute({
    ...OWNER,
    path: '/api/keys/{publicId}/rotate',
    operationId: 'rotateKey',
    summary: 'Replace a key',
    description:
      'Makes a new key with the same label, moves the balance to it and revokes the old one, all at once. Send the key itself as Bearer, or the signed text of GET /api/keys/message?action=rotate.',
    body: ProofBody,
    answers: { 201: { description: 'The new key with its secret.', schema: NewKey } },
    refusals: [...AUTHORITY_REFUSALS, 'key_not_found', 'key_revoked'],
    async handle({ parameters: { publicId }, caller, body }) {
      const action = 'rotate'
      const authority = await authorise(deps, { action, caller, proof: body })
      if (isRefusal(authority)) return authority
      const misnamed = checkNamed(authority, { key: publicId })
      if (misnamed !== undefined) return misnamed
      // Before the commit: nothing may fail between it and the answer, perhaps with a secret.
      const tier = await deps.callers.tierOf(authority.wallet)
      const nowUnix = unixNow(deps.clock)
      const outcome = await writeOrRefuse(deps.engine, async (connection) => {
        const old = await useAuthority(connection, authority, { action, publicId, nowUnix })
        if (isRefusal(old)) return old
        const digest = await markRevoked(connection, { publicId, nowUnix })
        if (digest === undefined) return refuse('key_revoked', 'a revoked key cannot be rotated')
        const made = await insertKey(connection, deps, { ...old, nowUnix })
        if (isRefusal(made)) return made
        const to = made.key.publicId
        await recordSuccessor(connection, { publicId, successor: to })
        await moveWholeBalance(connection, { id: `rotate:${to}`, from: publicId, to, nowUnix })
        return { ...made, digest }
      })
      if (isRefusal(outcome)) return outcome
      deps.callers.forget(outcome.digest)
      const key = toKeyRecord(deps, outcome.key, tier)
      return answer(201, { key, secret: outcome.secret }, NO_STORE)
    },
  })
}

const Moved = Type.Object(
  { fromPublicId: Type.String(), toPublicId: Type.String(), movedUsd: Type.Number() },
  { additionalProperties: false },
)

/** POST /api/keys/{publicId}/move-balance */
export function moveBalanceRoute(deps: AccessDeps): Route {
  return defineRoute({
    ...OWNER,
    path: '/api/keys/{publicId}/move-balance',
    operationId: 'moveBalance',
    summary: 'Move the balance of a key',
    description:
      'Moves all that is left on a key, also a revoked one, to an active key of the same wallet. Needs the signed text of GET /api/keys/message?action=move-balance; a key alone cannot do it.',
    body: Type.Object(
      {
        ...SIGNED_FIELDS,
        toPublicId: Type.String({ pattern: '^[0-9a-f]{8}$', description: 'The receiving key.' }),
      },
      { additionalProperties: false },
    ),
    answers: { 200: { description: 'What was moved.', schema: Moved } },
    refusals: [...AUTHORITY_REFUSALS, 'key_not_found', 'key_revoked'],
    async handle({ parameters: { publicId }, caller, body }) {
      const { toPublicId, ...proof } = body
      const action = 'move-balance'
      if (toPublicId === publicId) return refuse('invalid_body', 'toPublicId must be another key')
      const authority = await authorise(deps, { action, caller, proof })
      if (isRefusal(authority)) return authority
      const misnamed = checkNamed(authority, { key: publicId, to: toPublicId })
      if (misnamed !== undefined) return misnamed
      const nowUnix = unixNow(deps.clock)
      const moved = await writeOrRefuse(deps.engine, async (connection) => {
        const from = await useAuthority(connection, authority, { action, publicId, nowUnix })
        if (isRefusal(from)) return from
        // A rotation at the same time would leave the money on the key that it revokes.
        const to = await lockKey(connection, toPublicId)
        if (to === undefined) return refuse('key_not_found', 'there is no key to move to')
        if (to.wallet !== from.wallet)
          return refuse('not_key_owner', 'the receiving key belongs to another owner')
        if (to.revokedUnix !== null) return refuse('key_revoked', 'the receiving key is revoked')
        const id = authority.signed?.digest ?? ''
        return moveWholeBalance(connection, { id, from: publicId, to: toPublicId, nowUnix })
      })
      if (isRefusal(moved)) return moved
      const shown = { fromPublicId: publicId, toPublicId, movedUsd: toUsd(moved) }
      return answer(200, shown, NO_STORE)
    },
  })
}

/** POST /api/keys/report-leak */
export function reportLeakRoute(deps: AccessDeps): Route {
  return defineRoute({
    method: 'POST',
    path: '/api/keys/report-leak',
    operationId: 'reportLeak',
    tag: 'Keys',
    summary: 'Report a leaked secret',
    description:
      'Anyone who finds a secret can have it revoked; for secret scanners too. The answer is the same whether the secret was good or not.',
    metered: false,
    guard: 'mint',
    parameters: {},
    body: Type.Object(
      { secret: Type.String({ maxLength: 256, description: 'The whole secret.' }) },
      { additionalProperties: false },
    ),
    answers: {
      202: {
        description: 'Received.',
        schema: Type.Object({ received: Type.Boolean() }, { additionalProperties: false }),
      },
    },
    refusals: [],
    async handle({ body: { secret } }): Promise<Answer> {
      if (isSecret(deps.keyPrefix, secret)) await killLeaked(deps, secretDigest(secret))
      return answer(202, { received: true }, NO_STORE)
    },
  })
}

async function killLeaked(deps: AccessDeps, digest: string): Promise<void> {
  const key = (await findKeysByDigest(deps.engine, [digest])).get(digest)
  if (key === undefined) return
  const nowUnix = unixNow(deps.clock)
  await deps.engine.write((connection) => markRevoked(connection, { ...key, nowUnix }))
  deps.callers.forget(digest)
}
