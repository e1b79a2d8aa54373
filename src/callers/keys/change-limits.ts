import { type TSchema, Type } from 'typebox'
import { isRefusal, type Refusal, refuse } from '#domain/refusal.ts'
import { named } from '#lib/schema.ts'
import { startOfDay, unixNow } from '#lib/time.ts'
import { answer, defineRoute, type Route } from '#route/route.ts'
import type { Connection } from '#store/engine.ts'
import {
  AUTHORITY_REFUSALS,
  authorise,
  type KeyDeps,
  type OwnerProof,
  useAuthority,
} from './authorise.ts'
import { type Key, lockKey } from './key-store.ts'
import { applyLimits, limitsInput, loosened } from './limit-changes.ts'
import { setLimits, showLimits } from './limits.ts'
import { NO_STORE, ProofBody } from './manage-keys.ts'
import { publicIdInPath } from './parameters.ts'
import { readPaidCalls } from './spending-caps.ts'
import { writeOrRefuse } from './write-or-refuse.ts'

const OrNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

const KeyLimitsAnswer = named('KeyLimits', {
  limits: named('KeyLimitValues', {
    dailyPaidCalls: OrNull(Type.Integer()),
    monthlyPaidCalls: OrNull(Type.Integer()),
    endpoints: OrNull(Type.Array(Type.String())),
    origins: OrNull(Type.Array(Type.String())),
    addresses: OrNull(Type.Array(Type.String())),
    expiresAt: OrNull(Type.String({ format: 'date-time' })),
    lowBalanceUsd: OrNull(Type.Number()),
  }),
  paidCallsToday: Type.Integer({ description: 'Of this key and those that it replaced.' }),
  paidCallsThisMonth: Type.Integer({ description: 'UTC, as the day.' }),
})

export interface LimitsDeps extends KeyDeps {
  readonly dataPaths: readonly string[]
}

const LIMITS_ROUTE = {
  path: '/api/keys/{publicId}/limits',
  tag: 'Keys',
  metered: false,
  guard: 'mint',
  parameters: { publicId: publicIdInPath },
} as const

export function readLimitsRoute(deps: LimitsDeps): Route {
  return defineRoute({
    ...LIMITS_ROUTE,
    method: 'GET',
    operationId: 'getKeyLimits',
    summary: 'Read the limits of a key',
    description: 'Send the key itself as Bearer. null is not limited.',
    answers: { 200: { description: 'The limits, and what was paid.', schema: KeyLimitsAnswer } },
    refusals: [...AUTHORITY_REFUSALS, 'key_not_found'],
    async handle({ parameters: { publicId }, caller }) {
      const input = { action: 'limits', caller, proof: {}, named: { key: publicId } } as const
      const authority = authorise(deps, input)
      if (isRefusal(authority)) return authority
      const nowUnix = unixNow(deps.clock)
      const shown = await deps.engine.snapshot(async (connection) => {
        const found = { action: 'limits', publicId, nowUnix } as const
        const key = await useAuthority(connection, authority, found)
        return isRefusal(key) ? key : show(connection, key, nowUnix)
      })
      return isRefusal(shown) ? shown : answer(200, shown, NO_STORE)
    },
  })
}

export function changeLimitsRoute(deps: LimitsDeps): Route {
  return defineRoute({
    ...LIMITS_ROUTE,
    method: 'POST',
    operationId: 'changeKeyLimits',
    summary: 'Limit a key',
    description:
      'Members that are not sent stay as they are; null removes a limit. The key itself as Bearer may only tighten; anything that allows more needs the signed text of GET /api/keys/message?action=limits. Other replicas follow within a second.',
    body: Type.Object(
      { ...ProofBody.properties, ...limitsInput(deps.dataPaths) },
      { additionalProperties: false },
    ),
    answers: { 200: { description: 'The limits from now on.', schema: KeyLimitsAnswer } },
    refusals: [...AUTHORITY_REFUSALS, 'key_not_found', 'key_revoked'],
    async handle({ parameters: { publicId }, caller, body }) {
      const { ownerAddress, signature, message, ...sent } = body
      const proof: OwnerProof = { ownerAddress, signature, message }
      const input = { action: 'limits', caller, proof, named: { key: publicId } } as const
      const authority = authorise(deps, input)
      if (isRefusal(authority)) return authority
      const nowUnix = unixNow(deps.clock)
      const outcome = await writeOrRefuse(deps.engine, async (connection) => {
        const used = { action: 'limits', publicId, nowUnix } as const
        const found = await useAuthority(connection, authority, used)
        if (isRefusal(found)) return found
        const key = (await lockKey(connection, publicId)) ?? found
        if (key.revokedUnix !== null) return refuse('key_revoked', 'a revoked key has no limits')
        const limits = applyLimits(key.limits ?? {}, sent, nowUnix)
        if (isRefusal(limits)) return limits
        const more = loosened(key.limits ?? {}, limits)
        if (authority.signed === undefined && more.length > 0) return refuseLoosening(more)
        const digest = await setLimits(connection, { publicId, limits })
        return {
          digest,
          owner: key.wallet,
          shown: await show(connection, { ...key, limits }, nowUnix),
        }
      })
      if (isRefusal(outcome)) return outcome
      deps.callers.forget(outcome.digest)
      deps.onKeyChange?.({ kind: 'limited', publicId, owner: outcome.owner })
      return answer(200, outcome.shown, NO_STORE)
    },
  })
}

function refuseLoosening(limits: readonly string[]): Refusal {
  return refuse(
    'invalid_signature',
    `a key may only tighten its limits; for more (${limits.join(', ')}), sign the text of GET /api/keys/message?action=limits with its wallet`,
    { errors: limits.map((name) => ({ in: 'body', name, reason: 'would allow more' })) },
  )
}

async function show(connection: Connection, key: Key, nowUnix: number) {
  const paid = await readPaidCalls(connection, startOfDay(nowUnix), [key])
  const { ofDay = 0, ofMonth = 0 } = paid.get(key.publicId) ?? {}
  return { limits: showLimits(key.limits), paidCallsToday: ofDay, paidCallsThisMonth: ofMonth }
}
