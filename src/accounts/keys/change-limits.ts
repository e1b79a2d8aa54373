import { type Static, Type } from 'typebox'
import {
  AUTHORITY_REFUSALS,
  actOnKey,
  authorise,
  ProofBody,
  useAuthority,
} from '#accounts/keys/manage-keys.ts'
import { publicIdInPath } from '#accounts/keys/message.ts'
import { forgetKey } from '#accounts/metering/callers.ts'
import type { KeyLimits } from '#base/key-limits.ts'
import { toUsd } from '#base/money.ts'
import { isRefusal, type Refusal, refuse } from '#base/refusal.ts'
import { named } from '#base/schema.ts'
import { parseInstant, startOfDay, toIso, unixNow } from '#base/time.ts'
import type { Context } from '#context.ts'
import type { Connection } from '#db/engine.ts'
import { sql } from '#db/sql.ts'
import { answer, defineRoute, type Route } from '#route.ts'
import { changeKey, type Key, limitsText } from './key-store.ts'
import { noteKeyChange } from './revoked-keys.ts'
import { readSpent } from './spending-caps.ts'

const KeyLimitsAnswer = named('KeyLimits', {
  dailyCapUsd: Type.Union([Type.Number(), Type.Null()]),
  expiresAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  spentTodayUsd: Type.Number({
    description: 'Of the UTC day, by this key and those that it replaced.',
  }),
})

const USD_MAX = 1_000_000

const LimitsBody = Type.Object({
  ...ProofBody.properties,
  dailyCapUsd: Type.Optional(
    Type.Union([Type.Number({ minimum: 0, maximum: USD_MAX }), Type.Null()], {
      description: 'US dollars that paid calls may cost in a UTC day.',
    }),
  ),
  expiresAt: Type.Optional(
    Type.Union([Type.String({ maxLength: 64 }), Type.Null()], {
      description: 'When the key ends (RFC 3339).',
    }),
  ),
})

const LIMITS_ROUTE = {
  path: '/api/keys/{publicId}/limits',
  tag: 'Keys',
  metered: false,
  guard: 'mint',
  parameters: { publicId: publicIdInPath },
} as const

export function readLimitsRoute(ctx: Context): Route {
  return defineRoute({
    ...LIMITS_ROUTE,
    method: 'GET',
    operationId: 'getKeyLimits',
    summary: 'Read the limits of a key',
    description: 'Send the key itself as Bearer. null is not limited.',
    answers: { 200: { description: 'The limits, and what was spent.', schema: KeyLimitsAnswer } },
    refusals: [...AUTHORITY_REFUSALS, 'key_not_found'],
    async handle({ parameters: { publicId }, caller }) {
      const authority = authorise(ctx, 'limits', { caller, body: {}, publicId })
      if (isRefusal(authority)) return authority
      const nowUnix = unixNow(ctx.clock)
      const shown = await ctx.accounts.snapshot(async (connection) => {
        const found = { action: 'limits', publicId, nowUnix } as const
        const key = await useAuthority(connection, authority, found)
        return isRefusal(key) ? key : show(connection, key, nowUnix)
      })
      return isRefusal(shown) ? shown : answer(200, shown)
    },
  })
}

export function changeLimitsRoute(ctx: Context): Route {
  return defineRoute({
    ...LIMITS_ROUTE,
    method: 'POST',
    operationId: 'changeKeyLimits',
    summary: 'Limit a key',
    description:
      'Members that are not sent stay as they are; null removes a limit. The key itself as Bearer may only tighten; anything that allows more needs the signed text of GET /api/keys/message?action=limits. Other replicas follow within a second.',
    body: LimitsBody,
    answers: { 200: { description: 'The limits from now on.', schema: KeyLimitsAnswer } },
    refusals: [...AUTHORITY_REFUSALS, 'key_not_found', 'key_revoked'],
    handle: (asked) =>
      actOnKey(ctx, 'limits', asked, async (connection, key, { nowUnix }) => {
        const { revokedUnix, limits: before = {}, publicId, wallet: owner } = key
        if (revokedUnix !== null) return refuse('key_revoked', 'a revoked key takes no limits')
        const limits = applyLimits(before, asked.body, nowUnix)
        if (isRefusal(limits)) return limits
        const more = loosened(before, limits)
        if (asked.body.signature === undefined && more.length > 0)
          return refuse(
            'invalid_signature',
            `a key may only tighten its limits; for more (${more.join(', ')}), sign the text of GET /api/keys/message?action=limits with its wallet`,
            { errors: more.map((name) => ({ in: 'body', name, reason: 'loosens the limit' })) },
          )
        await changeKey(connection, key, sql`limits = ${limitsText(limits)}`)
        const shown = await show(connection, { ...key, limits }, nowUnix)
        return () => {
          forgetKey(ctx, key.secretDigest)
          noteKeyChange(ctx, { kind: 'limited', publicId, owner })
          return answer(200, shown)
        }
      }),
  })
}

/** Members that are not sent stay; null removes a limit. */
function applyLimits(
  before: KeyLimits,
  { dailyCapUsd, expiresAt }: Pick<Static<typeof LimitsBody>, 'dailyCapUsd' | 'expiresAt'>,
  nowUnix: number,
): KeyLimits | Refusal {
  const expiresMs = expiresAt == null ? undefined : parseInstant(expiresAt)
  if (expiresAt != null && (expiresMs === undefined || expiresMs <= nowUnix * 1000)) {
    const reason = 'must be in the future, such as 2030-01-31T00:00:00Z'
    const errors = [{ in: 'body', name: 'expiresAt', reason }] as const
    return refuse('invalid_body', 'expiresAt must be in the future', { errors })
  }
  const dailyCapMicroUsd =
    dailyCapUsd === undefined
      ? before.dailyCapMicroUsd
      : dailyCapUsd === null
        ? undefined
        : BigInt(Math.round(dailyCapUsd * 1e6))
  const expiresUnix =
    expiresAt === undefined ? before.expiresUnix : expiresMs && Math.floor(expiresMs / 1000)
  return { ...before, dailyCapMicroUsd, expiresUnix }
}

/** Names the limits that the change would loosen, which only the wallet may do. */
function loosened(before: KeyLimits, after: KeyLimits): readonly string[] {
  const isMore = <T extends number | bigint>(now: T | undefined, then: T | undefined) =>
    then !== undefined && (now === undefined || now > then)
  return [
    ...(isMore(after.dailyCapMicroUsd, before.dailyCapMicroUsd) ? ['dailyCapUsd'] : []),
    ...(isMore(after.expiresUnix, before.expiresUnix) ? ['expiresAt'] : []),
  ]
}

async function show(connection: Connection, key: Key, nowUnix: number) {
  const spent = await readSpent(connection, startOfDay(nowUnix), [key])
  const { dailyCapMicroUsd, expiresUnix } = key.limits ?? {}
  return {
    dailyCapUsd: dailyCapMicroUsd === undefined ? null : toUsd(dailyCapMicroUsd),
    expiresAt: expiresUnix === undefined ? null : toIso(expiresUnix),
    spentTodayUsd: toUsd(spent.get(key.publicId) ?? 0n),
  }
}
