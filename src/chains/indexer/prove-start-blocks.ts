import type { ChainSource } from '#chains/chain/chain-source.ts'
import type { Chain, Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { isTracked } from '#domain/token.ts'
import { ProofError } from './proof-error.ts'
import { readSupply } from './token-contract.ts'

/**
 * Rejects a `startBlock` after the token's first supply. Returns the reasons for chains whose node
 * lacks that state.
 */
export async function proveStartBlocks(
  ecosystem: Pick<Ecosystem, 'chains' | 'tokens'>,
  sourceOf: (chain: Chain) => ChainSource,
): Promise<ReadonlyMap<string, string>> {
  const unproven = new Map<string, string>()
  const errors: ProofError[] = []
  const checks = ecosystem.chains.flatMap((chain, index) =>
    ecosystem.tokens.filter(isTracked).map(async ({ symbol, addresses }) => {
      const address = addresses.get(chain.name)
      if (address === undefined || chain.startBlock === 0) return
      const supplyAt = (block: number) => readSupply(sourceOf(chain), address, block)
      const verdict = await judgeStart(supplyAt, chain.startBlock)
      if (verdict.kind === 'unknown') unproven.set(chain.name, verdict.reason)
      if (verdict.kind === 'late')
        errors.push(new ProofError(`chains[${index}].startBlock`, describe(symbol, chain, verdict)))
    }),
  )
  await Promise.all(checks)
  if (errors.length > 0) throw ProofError.join(errors)
  return unproven
}

type Verdict =
  | { readonly kind: 'early' }
  /** The first block with a supply, as far back as the node's state goes. */
  | { readonly kind: 'late'; readonly firstBlock: number }
  | { readonly kind: 'late'; readonly reason: string }
  | { readonly kind: 'unknown'; readonly reason: string }

/** Bisects to the first block with a supply. */
async function judgeStart(
  supplyAt: (block: number) => Promise<bigint>,
  startBlock: number,
): Promise<Verdict> {
  let high = startBlock - 1
  try {
    if ((await supplyAt(high)) === 0n) return { kind: 'early' }
  } catch (error) {
    return { kind: 'unknown', reason: messageOf(error) }
  }
  try {
    let low = -1
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if ((await supplyAt(middle)) === 0n) low = middle
      else high = middle
    }
    return { kind: 'late', firstBlock: high }
  } catch (error) {
    return { kind: 'late', reason: messageOf(error) }
  }
}

function describe(
  symbol: string,
  { name, startBlock }: Chain,
  verdict: Extract<Verdict, { kind: 'late' }>,
): string {
  const wrong = `${startBlock} is too late: ${symbol} on ${name} had a supply before it, whose transfers would be missing`
  return 'firstBlock' in verdict
    ? `${wrong}; write ${verdict.firstBlock} or an earlier block`
    : `${wrong}; write the block of the token's deployment (the node keeps no state old enough to find it: ${verdict.reason})`
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
