import { DAY_SECONDS, startOfDay } from '#lib/time.ts'
import type { Reads } from '#money/payments/reads.ts'
import type { Connection } from '#store/engine.ts'
import { lockGasDay } from './gas-days.ts'
import type { Intent } from './intent.ts'
import {
  countOpenBefore,
  findIntent,
  hasRevertedSince,
  insertIntent,
  type Reserved,
} from './intent-store.ts'

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
export async function reserveIntent(
  connection: Connection,
  intent: Intent,
): Promise<'reserved' | 'used' | 'busy' | 'waits'> {
  const { chainId, asset, authorization, createdUnix } = intent
  // Serialises reservations across replicas.
  await lockGasDay(connection, startOfDay(createdUnix))
  const { from, nonce } = authorization
  if ((await findIntent(connection, { chainId, asset, from, nonce })) !== undefined) return 'used'
  const sinceUnix = createdUnix - DAY_SECONDS
  if (await hasRevertedSince(connection, { payer: from, sinceUnix })) return 'waits'
  const open = await countOpenBefore(connection, intent)
  if (open.ofCaller > 0 || open.all >= OPEN_MAX) return 'busy'
  return (await insertIntent(connection, intent)) ? 'reserved' : 'used'
}
