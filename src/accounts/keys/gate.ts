import { Type } from 'typebox'
import { walletInQuery } from '#accounts/keys/message-route.ts'
import { readShares } from '#accounts/metering/tier.ts'
import { readHoldings } from '#chains/statistics/holdings.ts'
import type { Context } from '#context.ts'
import { type Address, showAddress } from '#domain/address.ts'
import { toUsd } from '#domain/money.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { walletTiers } from '#domain/tier.ts'
import { named } from '#lib/schema.ts'
import { answer, defineRoute, type Route } from '#route/route.ts'

const Held = named('GateToken', {
  symbol: Type.String(),
  amount: Type.String({ description: 'Token units.' }),
  priceUsd: Type.Number({ description: 'Time-weighted, as the gate counts.' }),
  valueUsd: Type.Number(),
})

const Share = named('GateTier', {
  tier: Type.String(),
  dailyQuota: Type.Integer(),
  symbol: Type.String(),
  held: Type.String({ description: 'Token units.' }),
  needed: Type.String({ description: 'Token units.' }),
  reached: Type.Boolean(),
})

const Gate = named('Gate', {
  address: Type.String(),
  canMint: Type.Boolean(),
  requiredUsd: Type.Union([Type.Number(), Type.Null()], { description: 'Null: anyone may mint.' }),
  heldUsd: Type.Union([Type.Number(), Type.Null()]),
  tokens: Type.Array(Held),
  tier: Type.Enum(walletTiers.map(({ name }) => name)),
  dailyQuota: Type.Integer({ description: 'Calls per UTC day that the tier brings.' }),
  tiers: Type.Array(Share, { description: 'Tiers that ask for a share of the supply.' }),
})

export function gateRoute(ctx: Context): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/keys/gate',
    operationId: 'getGate',
    tag: 'Keys',
    summary: 'See whether a wallet can mint a key',
    description:
      'What the wallet holds, what a key asks for, and its tier, read from our index at the depth and price that minting uses. Free, and strictly limited per address.',
    metered: false,
    guard: 'gate',
    parameters: { address: { ...walletInQuery, description: 'The wallet.' } },
    answers: { 200: { description: 'The gate as this wallet meets it.', schema: Gate } },
    refusals: ['invalid_address', 'gate_unavailable'],
    async handle({ parameters: { address } }) {
      const [held, shares] = await Promise.all([holdingsOf(ctx, address), readShares(ctx, address)])
      if (held.kind === 'unavailable') return unavailable(held.message)
      if (shares === undefined) return unavailable('The index of holders is not up to date.')
      const { quotas } = ctx.ecosystem
      const isReached = (name: string) => shares.some((each) => each.reached && each.tier === name)
      const tier = walletTiers.findLast(({ name }) => isReached(name))?.name ?? 'free'
      const body = {
        address: showAddress(address),
        canMint: held.canMint,
        requiredUsd: held.requiredUsd,
        heldUsd: held.heldUsd,
        tokens: held.tokens,
        tier,
        dailyQuota: quotas[tier],
        tiers: shares.map((share) => ({ ...share, dailyQuota: quotas[share.tier] })),
      }
      return answer(200, body)
    },
  })
}

async function holdingsOf(ctx: Context, wallet: Address) {
  const { gate } = ctx.ecosystem
  if (gate === null || gate === 'open')
    return { kind: 'ready', canMint: true, requiredUsd: null, heldUsd: null, tokens: [] } as const
  const holdings = await readHoldings(ctx, gate, wallet)
  if (holdings.kind === 'unavailable') return holdings
  const { heldUsd, tokens } = holdings
  return {
    kind: 'ready',
    canMint: heldUsd >= gate.minimum,
    requiredUsd: toUsd(gate.minimum),
    heldUsd: toUsd(heldUsd),
    tokens,
  } as const
}

/** For a proven signer only: the refusal says what the wallet holds. */
export async function checkGate(ctx: Context, wallet: Address): Promise<Refusal | undefined> {
  const holdings = await holdingsOf(ctx, wallet)
  if (holdings.kind === 'unavailable') return unavailable(holdings.message)
  const { canMint, requiredUsd, heldUsd, tokens } = holdings
  if (canMint) return undefined
  return refuse('holding_gate_not_met', `this wallet must hold tokens worth ${requiredUsd} USD`, {
    members: { requiredUsd, heldUsd, tokens },
  })
}

function unavailable(message: string): Refusal {
  return refuse('gate_unavailable', message, { retryAfterSeconds: 30 })
}
