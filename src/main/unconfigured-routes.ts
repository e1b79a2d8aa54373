import type { UnconfiguredRoute } from '#api/server.ts'
import type { Context } from '#context.ts'
import { refuse } from '#domain/refusal.ts'
import { settlingSettingOf } from '#money/x402/facilitator.ts'

export function unconfiguredRoutes(
  ctx: Pick<Context, 'config' | 'ecosystem'>,
): readonly UnconfiguredRoute[] {
  const { payment, gate } = ctx.ecosystem
  const settles = settlingSettingOf(ctx) !== undefined
  return [
    ...(payment === null ? OF_PAYMENT : []),
    ...(payment === null || settles ? [] : OF_SETTLING),
    ...(gate === null ? OF_GATE : []),
  ]
}

const NO_PAYMENTS = refuse(
  'not_configured',
  'this service does not take payments; calls beyond the daily quota are refused until 00:00 UTC',
)

const OF_PAYMENT: readonly UnconfiguredRoute[] = [
  { method: 'POST', path: '/api/sessions/prepay', refusal: NO_PAYMENTS },
  { method: 'GET', path: '/api/sessions/prepay/{idOrTxHash}', refusal: NO_PAYMENTS },
  { method: 'GET', path: '/api/sessions/topup', refusal: NO_PAYMENTS },
  { method: 'POST', path: '/api/sessions/topup', refusal: NO_PAYMENTS },
]

const NO_SETTLING = refuse(
  'not_configured',
  'this service settles no x402 payments; pay by transfer and POST /api/sessions/prepay',
)

const OF_SETTLING: readonly UnconfiguredRoute[] = [
  { method: 'GET', path: '/api/sessions/topup', refusal: NO_SETTLING },
  { method: 'POST', path: '/api/sessions/topup', refusal: NO_SETTLING },
]

const OF_GATE: readonly UnconfiguredRoute[] = [
  {
    method: 'POST',
    path: '/api/keys',
    refusal: refuse(
      'not_configured',
      'this service does not mint API keys; calls are counted per client address',
    ),
  },
]
