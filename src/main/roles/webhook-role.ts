import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { keyedCaller } from '#access/callers/callers.ts'
import { gather } from '#access/callers/gather.ts'
import { createTiers } from '#access/callers/tiers.ts'
import { newestKeys } from '#access/keys/key-store.ts'
import { filePartsOf } from '#datasets/file-parts.ts'
import { makeDollarPrices } from '#datasets/prices/price-book.ts'
import type { Address } from '#domain/address.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { sleep } from '#lib/sleep.ts'
import { type Clock, unixNow } from '#lib/time.ts'
import { readTiers } from '#statistics/holdings.ts'
import type { KeyedCaller } from '#webhooks/charge-events.ts'
import { Deliverer } from '#webhooks/deliverer.ts'
import { POST_TIMEOUT_MS, resolveName } from '#webhooks/post-event.ts'
import { openSigningKeys } from '../open-signing-keys.ts'
import type { Settings } from '../settings.ts'
import type { Stores } from '../stores.ts'

export interface WebhookRole {
  readonly ecosystem: Ecosystem
  readonly stores: Pick<Stores, 'register' | 'accounts'>
  readonly settings: Pick<Settings, 'webhookPrivate'>
  readonly signingKeys: string
  readonly clock: Clock
  readonly logger: Pick<Logger, 'error'>
}

/** How long a change waits to be queued. */
const PASS_EVERY_MS = 500

/** Of a role that stands by. */
const LOOK_EVERY_MS = 2_000

/** Sends events to webhooks until the signal aborts. */
export async function runWebhookRole(role: WebhookRole, signal: AbortSignal): Promise<void> {
  const { ecosystem, stores, settings, clock, logger } = role
  const report = (err: unknown) => logger.error({ err }, 'webhooks: retrying')
  const deliverer = new Deliverer({
    ...stores,
    ecosystem,
    clock,
    pricePerCall: ecosystem.pricePerCall,
    keys: await openSigningKeys(role.signingKeys),
    callersOf: openCallers(role),
    allowPrivate: settings.webhookPrivate,
    resolve: resolveName,
    timeoutMs: POST_TIMEOUT_MS,
    holder: randomUUID(),
    random: Math.random,
    report,
  })
  while (!signal.aborted) {
    const state = await deliverer.pass().catch(report)
    await sleep(state === 'leading' ? PASS_EVERY_MS : LOOK_EVERY_MS, signal)
  }
  await deliverer.stop().catch(report)
}

/** Who pays for events of keys: their newest rotations. */
export function openCallers({
  ecosystem,
  stores,
  clock,
}: Pick<WebhookRole, 'ecosystem' | 'stores' | 'clock'>) {
  const { accounts: engine, register } = stores
  const prices = makeDollarPrices(ecosystem.tokens)
  const holdings = { register, ecosystem, clock, prices, file: filePartsOf(ecosystem) }
  const judgeTier = gather((wallets: readonly Address[]) => readTiers(holdings, wallets))
  const tierOf = createTiers({ engine, clock, judgeTier })
  const facts = { ...ecosystem, keyPrefix: ecosystem.service.keyPrefix }
  return async (publicIds: readonly string[]) => {
    const keys = await newestKeys({ run: engine.read }, publicIds)
    const callers = new Map<string, KeyedCaller | 'expired'>()
    for (const [publicId, key] of keys) {
      if (key.revokedUnix !== null) continue
      const endUnix = key.limits?.expiresUnix ?? Number.POSITIVE_INFINITY
      const caller = keyedCaller(facts, key, await tierOf(key.wallet))
      callers.set(publicId, endUnix <= unixNow(clock) ? 'expired' : caller)
    }
    return callers
  }
}
