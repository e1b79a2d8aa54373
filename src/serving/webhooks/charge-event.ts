import { lockSuccessor } from '#accounts/keys/key-store.ts'
import { admitWithin } from '#accounts/metering/meter/meter.ts'
import type { Caller } from '#domain/caller.ts'
import type { MicroUsd } from '#domain/money.ts'
import type { Clock } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'

export type KeyedCaller = Caller & { readonly kind: 'keyed' }

/** The caller of each key; absent once the key has ended. */
export type WebhookCallers = ReadonlyMap<string, KeyedCaller>

export interface EventChargeDeps {
  readonly clock: Clock
  readonly pricePerCall: MicroUsd
}

/** Whether a call was paid, by quota or balance; by the newest rotation of the key. */
export async function chargeEvent(
  connection: Connection,
  { clock, pricePerCall }: EventChargeDeps,
  caller: KeyedCaller,
): Promise<boolean> {
  const ctx = { clock, ecosystem: { pricePerCall } }
  const admission = await admitWithin(ctx, connection, caller, async () => ({
    key: await lockSuccessor(connection, caller.publicId),
  }))
  return admission?.kind === 'admitted'
}
