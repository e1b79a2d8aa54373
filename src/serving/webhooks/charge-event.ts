import { findKey, lockSuccessor } from '#accounts/keys/key-store.ts'
import { decideBatch } from '#accounts/metering/meter/decide-batch.ts'
import { lockUsageDay } from '#accounts/metering/meter/meter-statements.ts'
import type { Caller } from '#domain/caller.ts'
import type { MicroUsd } from '#domain/money.ts'
import { type Clock, startOfDay, unixNow } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'

export type KeyedCaller = Caller & { readonly kind: 'keyed' }

/** The caller of each key; absent once the key has ended. */
export type WebhookCallers = ReadonlyMap<string, KeyedCaller>

export interface EventChargeDeps {
  readonly clock: Clock
  readonly pricePerCall: MicroUsd
}

/** Whether a call was paid, by quota or balance. */
export async function chargeEvent(
  connection: Connection,
  { clock, pricePerCall }: EventChargeDeps,
  caller: KeyedCaller,
): Promise<boolean> {
  const day = startOfDay(unixNow(clock))
  // Locks in the meter's order: days of usage, then keys.
  await lockUsageDay(connection, { bucket: caller.bucket, day, quota: caller.dailyQuota })
  const admits = [await newestPayer(connection, caller)]
  const batch = { admits, readers: [], day, pricePerCall }
  const { admissions } = await decideBatch(connection, batch)
  return admissions[0]?.kind === 'admitted'
}

/** The key may have been rotated or limited since the caller was read. */
async function newestPayer(connection: Connection, caller: KeyedCaller): Promise<KeyedCaller> {
  const publicId = await lockSuccessor(connection, caller.publicId)
  const key = await findKey(connection, publicId)
  if (key === undefined) return caller
  return { ...caller, publicId, hasOwnCounter: !key.isFirst, limits: key.limits }
}

/** Whether a call would be paid now. */
export async function canPay(
  connection: Connection,
  { clock, pricePerCall }: EventChargeDeps,
  caller: KeyedCaller,
): Promise<boolean> {
  const day = startOfDay(unixNow(clock))
  const batch = { admits: [], readers: [caller], day, pricePerCall }
  const { rateLimits } = await decideBatch(connection, batch)
  return rateLimits[0] !== undefined && rateLimits[0].refused === undefined
}
