import { findKey } from '#accounts/keys/key-store.ts'
import type { Caller } from '#domain/caller.ts'
import type { MicroUsd } from '#domain/money.ts'
import { type Clock, startOfDay, unixNow } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import type { Admission } from './admission.ts'
import { decideBatch } from './decide-batch.ts'
import { lockUsageDay } from './meter-statements.ts'

/**
 * Admits a call in the transaction that credits its caller, so that the payment pays for it;
 * undefined if `credit` is. A rotated key's newest rotation pays.
 */
export async function admitCredited(
  connection: Connection,
  deps: { readonly clock: Clock; readonly pricePerCall: MicroUsd },
  caller: Caller,
  credit: () => Promise<{ readonly key: string | null } | undefined>,
): Promise<Admission | undefined> {
  const day = startOfDay(unixNow(deps.clock))
  await lockUsageDay(connection, { bucket: caller.bucket, day, quota: caller.dailyQuota })
  const credited = await credit()
  if (credited === undefined) return undefined
  const admits = [await payerOf(connection, caller, credited.key)]
  const batch = { admits, readers: [], day, pricePerCall: deps.pricePerCall }
  return (await decideBatch(connection, batch)).admissions[0]
}

/** Reads the limits again, since they may have changed while the payment settled. */
async function payerOf(
  connection: Connection,
  caller: Caller,
  key: string | null,
): Promise<Caller> {
  if (caller.kind !== 'keyed') return caller
  const publicId = key ?? caller.publicId
  return { ...caller, publicId, limits: (await findKey(connection, publicId))?.limits }
}
