import { randomBytes } from 'node:crypto'
import { batchLoader } from '#accounts/metering/batch-loader.ts'
import type { CallerRoutesDeps } from '#accounts/metering/caller-routes.ts'
import {
  type CreateMeteringDeps,
  createMetering,
  type Metering,
} from '#accounts/metering/create-metering.ts'
import { meterOf } from '#accounts/metering/meter/meter.ts'
import { readHoldings, readShares, readTiers } from '#chains/statistics/holdings.ts'
import type { GuardSetting } from '#config.ts'
import type { Context } from '#context.ts'
import type { Address } from '#domain/address.ts'
import { watchKeys } from './revoked-keys.ts'

/** Who calls and what is charged, with what the routes of keys and usage need. */
export type OpenMetering = Metering & CallerRoutesDeps

export function openMetering(ctx: Context): OpenMetering {
  const { ecosystem, config, clock, logger } = ctx
  const { guard } = config
  const deps = {
    engine: ctx.accounts,
    meter: meterOf(ctx),
    clock,
    randomBytes,
    serviceName: ecosystem.service.name,
    keyPrefix: ecosystem.service.keyPrefix,
    quotas: ecosystem.quotas,
    gate: gateOf(ctx),
    paymentChainId: ecosystem.payment?.chain.id ?? null,
    shares: (wallet: Address) => readShares(ctx, wallet),
    judgeTier: batchLoader((wallets: readonly Address[]) => readTiers(ctx, wallets)),
    trustedProxies: config.trustedProxies,
    guardLimits: {
      general: toLimit(guard.general),
      mint: toLimit(guard.mint),
      gate: toLimit(guard.claim),
      claim: toLimit(guard.claim),
      webhook: WEBHOOK_LIMIT,
    },
    onKeyChange: watchKeys(ctx),
    warn: (message: string) => logger.warn(message),
  } satisfies CreateMeteringDeps & Omit<CallerRoutesDeps, 'callers'>
  return { ...deps, ...createMetering(deps) }
}

function gateOf(ctx: Context): CallerRoutesDeps['gate'] {
  const { gate } = ctx.ecosystem
  if (gate === null || gate === 'open') return gate
  return {
    minimum: gate.minimum,
    async holdings(wallet) {
      const held = await readHoldings(ctx, gate, wallet)
      return held.kind === 'ready'
        ? { ...held, tokens: held.tokens.map((token) => ({ ...token })) }
        : held
    },
  }
}

/** Registrations: 30 an hour, since each asks a URL that may be anyone's. */
const WEBHOOK_LIMIT = { burst: 30, refillPerSecond: 30 / 3_600 }

function toLimit(setting: GuardSetting) {
  return { burst: setting.burst, refillPerSecond: setting.perMinute / 60 }
}
