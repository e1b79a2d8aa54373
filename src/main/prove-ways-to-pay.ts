import type { Payment } from '#chains/ecosystem/ecosystem.ts'
import type { Clock } from '#lib/time.ts'
import { SCHEMES } from '#money/x402/schemes/schemes.ts'
import { openSettlingRpc } from '#money/x402/settling-rpc.ts'

/** What an operator must know of wallets that cannot pay by x402; empty if all can. */
export async function proveWaysToPay(payment: Payment, clock: Clock): Promise<readonly string[]> {
  const rpc = openSettlingRpc(payment.chain)
  const proven = await Promise.all(
    SCHEMES.map((scheme) => scheme.proveWays({ rpc, payment, clock })),
  )
  const ways = proven.flat()
  const left = ways.filter(({ refusal }) => refusal === undefined).map(({ by }) => by)
  return ways.flatMap(({ by, refusal }) =>
    refusal === undefined
      ? []
      : [
          `x402 payments by ${by} fail in a simulation (${refusal}); payments that remain: ${left.join('; ') || 'none, so that x402 is not offered'}`,
        ],
  )
}
