import { Type } from 'typebox'
import { type Address, showAddress } from '#domain/address.ts'
import { toUsd } from '#domain/money.ts'
import { refuse } from '#domain/refusal.ts'
import { type Quotas, type Tier, walletTiers } from '#domain/tier.ts'
import { named } from '#lib/schema.ts'
import { answer, defineRoute, type Route } from '#route/route.ts'
import type { MintGate } from './mint.ts'
import { walletInQuery } from './parameters.ts'

/** What a wallet holds of what a tier asks for, in token units. */
export interface GateShare {
  readonly tier: Tier
  readonly symbol: string
  readonly held: string
  readonly needed: string
  readonly reached: boolean
}

export interface GateDeps {
  readonly gate: NonNullable<MintGate>
  readonly quotas: Quotas
  /** Shares for each tier that asks for one; undefined while the index is not up to date. */
  shares(wallet: Address): Promise<readonly GateShare[] | undefined>
}

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

export function gateRoute(deps: GateDeps): Route {
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
      const [held, shares] = await Promise.all([holdingsOf(deps, address), deps.shares(address)])
      if (held.kind === 'unavailable') return unavailable(held.message)
      if (shares === undefined) return unavailable('The index of holders is not up to date.')
      const reached = shares.filter((share) => share.reached).map(({ tier }) => tier)
      const tier = walletTiers.findLast(({ name }) => reached.includes(name))?.name ?? 'free'
      const body = {
        address: showAddress(address),
        canMint: held.canMint,
        requiredUsd: held.requiredUsd,
        heldUsd: held.heldUsd,
        tokens: held.tokens,
        tier,
        dailyQuota: deps.quotas[tier],
        tiers: shares.map((share) => ({ ...share, dailyQuota: deps.quotas[share.tier] })),
      }
      return answer(200, body, { headers: { 'Cache-Control': 'no-store' } })
    },
  })
}

async function holdingsOf({ gate }: GateDeps, wallet: Address) {
  if (gate === 'open')
    return { kind: 'ready', canMint: true, requiredUsd: null, heldUsd: null, tokens: [] } as const
  const holdings = await gate.holdings(wallet)
  if (holdings.kind === 'unavailable') return holdings
  return {
    kind: 'ready',
    canMint: holdings.heldUsd >= gate.minimum,
    requiredUsd: toUsd(gate.minimum),
    heldUsd: toUsd(holdings.heldUsd),
    tokens: holdings.tokens,
  } as const
}

function unavailable(message: string) {
  return refuse('gate_unavailable', message, { retryAfterSeconds: 30 })
}
