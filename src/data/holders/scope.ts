import { type Refusal, refuse } from '#base/refusal.ts'
import { isTracked } from '#base/token.ts'
import type { Chain, Ecosystem, PricedToken } from '#ecosystem/ecosystem.ts'
import type { ChainStatus, IndexStatus } from '#index/status.ts'
import { areHoldersKnown } from '../meta.ts'
import { chainParameter, tokenParameter } from '../parameters.ts'

/** A token on all of its chains, or on one of them. */
export interface ScopeQuery {
  readonly token: PricedToken
  readonly chain: Chain | undefined
}

/** Offers tracked tokens only: of others not every transfer is read. */
export function scopeParameters(ecosystem: Ecosystem) {
  return {
    token: tokenParameter(ecosystem.tokens.filter(isTracked), ecosystem.primary),
    chain: chainParameter(ecosystem),
  }
}

export function refuseElsewhere({ token, chain }: ScopeQuery): Refusal | undefined {
  const allowed = [...token.addresses.keys(), 'all']
  if (chain === undefined || allowed.includes(chain.name)) return undefined
  const reason = `is not a chain of ${token.symbol}`
  const errors = [{ in: 'query', name: 'chain', reason, allowed } as const]
  return refuse('invalid_parameter', `chain ${reason}`, { errors })
}

/** Names of the chains asked for. */
export function placesOf({ token, chain }: ScopeQuery): readonly string[] {
  return [...token.addresses.keys()].filter((name) => (chain?.name ?? name) === name)
}

/** Returns those of the chains asked for that have been read. */
export function chainsOf(
  { chains }: IndexStatus,
  { token, chain }: ScopeQuery,
): readonly ChainStatus[] {
  return chains.filter(
    ({ chain: own }) => token.addresses.has(own.name) && (chain ?? own).id === own.id,
  )
}

/** Says why balances are not known. */
export function whyUnknown(status: IndexStatus, { token, chain }: ScopeQuery): string | undefined {
  if (areHoldersKnown(status, token, chain?.id)) return undefined
  return `The balances of ${token.symbol} are unknown: its transfers add up to a balance below zero.`
}
