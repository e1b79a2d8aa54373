import { findKey, lockSuccessor } from '#access/keys/key-store.ts'
import { decideBatch } from '#access/meter/decide-batch.ts'
import { lockUsageDay } from '#access/meter/meter-statements.ts'
import type { Caller } from '#domain/caller.ts'
import type { MicroUsd } from '#domain/money.ts'
import { type Clock, startOfDay, unixNow } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'

export type KeyedCaller = Caller & { readonly kind: 'keyed' }

export interface ChargeDeps {
  readonly clock: Clock
  readonly pricePerCall: MicroUsd
}

/** Whether one call of each was paid, by quota or balance, in the order given. */
export async function chargeEvents(
  connection: Connection,
  deps: ChargeDeps,
  input: {
    readonly callers: readonly KeyedCaller[]
    /** Names a batch for ever. */
    readonly id: { readonly meter: string; readonly number: number }
  },
): Promise<readonly boolean[]> {
  const { callers, id } = input
  if (callers.length === 0) return []
  const { pricePerCall } = deps
  const day = startOfDay(unixNow(deps.clock))
  // In the meter's order of locks: days of usage, then keys.
  const quotas = new Map(callers.map(({ bucket, dailyQuota }) => [bucket, dailyQuota]))
  for (const [bucket, quota] of [...quotas].sort(([a], [b]) => (a < b ? -1 : 1)))
    await lockUsageDay(connection, { bucket, day, quota })
  const payers = new Map<string, KeyedCaller>()
  for (const caller of callers.toSorted((a, b) => (a.publicId < b.publicId ? -1 : 1)))
    if (!payers.has(caller.publicId))
      payers.set(caller.publicId, await newestPayer(connection, caller))
  const admits = callers.map((caller) => payers.get(caller.publicId) ?? caller)
  const batch = { id, admits, figures: [], day, pricePerCall }
  const { admissions } = await decideBatch(connection, batch)
  return admissions.map(({ kind }) => kind === 'admitted')
}

/** The key may have been rotated or limited since the caller was read. */
async function newestPayer(connection: Connection, caller: KeyedCaller): Promise<KeyedCaller> {
  const publicId = await lockSuccessor(connection, caller.publicId)
  const key = await findKey(connection, publicId)
  if (key === undefined) return caller
  return { ...caller, publicId, hasOwnCounter: !key.isFirst, limits: key.limits }
}

/** Whether a call would be paid now; caps are decided with the charge. */
export async function canPay(
  connection: Connection,
  { clock, pricePerCall }: ChargeDeps,
  caller: KeyedCaller,
): Promise<boolean> {
  const day = startOfDay(unixNow(clock))
  const batch = { id: { meter: '', number: 0 }, admits: [], figures: [caller], day, pricePerCall }
  const { figures } = await decideBatch(connection, batch)
  const [own] = figures
  return own !== undefined && (own.remaining > 0 || own.prepaidBalance >= pricePerCall)
}
