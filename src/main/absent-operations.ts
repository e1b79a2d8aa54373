import type { AbsentOperation } from '#api/create-api.ts'
import { refuse } from '#domain/refusal.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'

/** Operations that this ecosystem does not offer. */
export function absentOperations({
  payment,
  gate,
}: Pick<Ecosystem, 'payment' | 'gate'>): readonly AbsentOperation[] {
  return [...(payment === null ? OF_PAYMENT : []), ...(gate === null ? OF_GATE : [])]
}

const NO_PAYMENTS = refuse(
  'not_configured',
  'this service takes no payments; calls beyond the daily quota wait for 00:00 UTC',
)

const OF_PAYMENT: readonly AbsentOperation[] = [
  { method: 'POST', path: '/api/sessions/prepay', refusal: NO_PAYMENTS },
  { method: 'GET', path: '/api/sessions/prepay/{idOrTxHash}', refusal: NO_PAYMENTS },
  { method: 'GET', path: '/api/sessions/topup', refusal: NO_PAYMENTS },
  { method: 'POST', path: '/api/sessions/topup', refusal: NO_PAYMENTS },
]

const OF_GATE: readonly AbsentOperation[] = [
  {
    method: 'POST',
    path: '/api/keys',
    refusal: refuse(
      'not_configured',
      'this service mints no API keys; calls without one are counted per address',
    ),
  },
]
