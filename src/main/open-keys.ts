import { randomBytes } from 'node:crypto'
import type { CallerRoutesDeps } from '#accounts/metering/caller-routes.ts'
import { forgetKey } from '#accounts/metering/callers.ts'
import { readAllowance, readShares } from '#accounts/metering/tier.ts'
import { readHoldings } from '#chains/statistics/holdings.ts'
import type { Context } from '#context.ts'
import type { Address } from '#domain/address.ts'
import { watchKeys } from './revoked-keys.ts'

/** What the routes of keys need. */
export function openKeys(ctx: Context): CallerRoutesDeps {
  const { ecosystem, clock } = ctx
  return {
    engine: ctx.accounts,
    clock,
    randomBytes,
    serviceName: ecosystem.service.name,
    keyPrefix: ecosystem.service.keyPrefix,
    quotas: ecosystem.quotas,
    gate: gateOf(ctx),
    paymentChainId: ecosystem.payment?.chain.id ?? null,
    shares: (wallet: Address) => readShares(ctx, wallet),
    callers: {
      allowanceOf: (wallet) => readAllowance(ctx, wallet),
      forget: (digest) => forgetKey(ctx, digest),
    },
    onKeyChange: watchKeys(ctx),
  }
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
