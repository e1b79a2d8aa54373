import { readFinalized } from '#indexer/positions.ts'
import { askContract } from '#indexer/token-contract.ts'
import type { UnexplainedBalanceError } from '../fold-balances.ts'
import type { ProveDeps } from './prove-holders.ts'
import { traceDifference } from './trace-difference.ts'

/**
 * Sets aside endpoints that lack a holder's transfers and returns their hosts; none if unproven, or
 * if no other endpoint would remain.
 */
export async function findPruned(
  deps: ProveDeps,
  { chainId, token: symbol, address: holder }: UnexplainedBalanceError,
): Promise<readonly string[]> {
  const { ecosystem, register } = deps
  const chain = ecosystem.chains.find(({ id }) => id === chainId)
  const token = ecosystem.tokens.find((each) => each.symbol === symbol)
  const contract = chain && token?.addresses.get(chain.name)
  const source = deps.sourceOf(chainId)
  if (chain === undefined || contract === undefined || source.each().length < 2) return []
  const to = await register.snapshot((reads) => readFinalized(reads, chainId))
  const onChain = await askContract(source, contract, holder, to)
  const { prunedHosts, cause } = await traceDifference(
    source,
    { token: contract, holder, stored: 0n, onChain },
    { from: chain.startBlock, to },
  )
  const isOther = source
    .endpoints()
    .some(({ host, state }) => state !== 'pruned' && !prunedHosts.includes(host))
  if (!isOther) return []
  for (const host of prunedHosts) source.lacksHistory(host, cause)
  return prunedHosts
}
