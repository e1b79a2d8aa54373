import { Type } from 'typebox'
import type { Context } from '#context.ts'
import { toUsd } from '#domain/money.ts'
import { tiers } from '#domain/tier.ts'
import { named } from '#lib/schema.ts'
import { answer, defineRoute, type Route } from '#route/route.ts'
import { meterOf } from '../meter/meter.ts'

const Usage = named('Usage', {
  identity: Type.String({ description: '`key:<prefix>_<publicId>`, or `ip:<address bucket>`.' }),
  tier: Type.Enum(tiers.map(({ name }) => name)),
  requestCount: Type.Integer({
    description: 'Charged calls of the UTC day, paid ones included.',
  }),
  dailyQuota: Type.Integer(),
  remaining: Type.Integer({ description: 'Free calls left of the day.' }),
  overageCount: Type.Integer({ description: 'The paid part of requestCount.' }),
  prepaidBalanceUsd: Type.Number(),
  resetUnix: Type.Integer({ description: 'Unix seconds of the next reset, 00:00 UTC.' }),
})

export function usageRoute(ctx: Context): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/usage',
    operationId: 'getUsage',
    tag: 'Usage',
    summary: 'Your calls of today',
    description:
      'The figures of the key in the Authorization header, else of the address you call from. Asking is free.',
    metered: false,
    parameters: {},
    answers: { 200: { description: 'The figures as they stand.', schema: Usage } },
    refusals: ['metering_unavailable'],
    async handle({ caller }) {
      const rateLimit = await meterOf(ctx).rateLimit(caller)
      const { tier, requestCount, dailyQuota, remaining, overageCount, resetUnix } = rateLimit
      const body = {
        identity: caller.identity,
        tier,
        requestCount,
        dailyQuota,
        remaining,
        overageCount,
        prepaidBalanceUsd: toUsd(rateLimit.prepaidBalance),
        resetUnix,
      }
      return answer(200, body, { rateLimit })
    },
  })
}
