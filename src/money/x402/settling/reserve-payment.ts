import { DAY_SECONDS } from '#lib/time.ts'
import type { Reads } from '#money/payments/claim-store.ts'
import type { Connection } from '#store/engine.ts'
import { lockReservations } from './gas-days.ts'
import {
  countOpenBefore,
  findPayment,
  hasRevertedSince,
  insertPayment,
  type Reserved,
} from './payment-store.ts'
import type { X402Payment } from './x402-payment.ts'

/** Nodes' default of pending transactions per account. */
const OPEN_MAX = 64

/** Cheaper than the signature of a payment that would have to come again. */
export async function isCrowded(reads: Reads, input: Reserved): Promise<boolean> {
  return (await countOpenBefore(reads, input)).all >= OPEN_MAX
}

/**
 * `busy`: another payment by this wallet is open (its funds could back many that fail at our cost), or
 * one for the caller's own balance, or too many. `waits`: its last one reverted at our cost. Nothing is stored then.
 */
export async function reservePayment(
  connection: Connection,
  payment: X402Payment,
): Promise<'reserved' | 'used' | 'busy' | 'waits'> {
  const { chainId, asset, authorization, createdUnix } = payment
  // Serialises reservations across replicas.
  await lockReservations(connection)
  const { from, nonce } = authorization
  if ((await findPayment(connection, { chainId, asset, from, nonce })) !== undefined) return 'used'
  const sinceUnix = createdUnix - DAY_SECONDS
  if (await hasRevertedSince(connection, { payer: from, sinceUnix })) return 'waits'
  const open = await countOpenBefore(connection, payment)
  if (open.ofCaller > 0 || open.all >= OPEN_MAX) return 'busy'
  return (await insertPayment(connection, payment)) ? 'reserved' : 'used'
}
