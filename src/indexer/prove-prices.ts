import type { ChainSource } from '#chain/chain-source.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import type { Chain } from '#ecosystem/priced-token.ts'
import { callView } from './call-view.ts'
import { ProofError } from './proof-error.ts'

/** Compares each pool and feed with the file, all at once. */
export function provePrices(
  { tokens }: Ecosystem,
  sourceOf: (chain: Chain) => ChainSource,
): readonly Promise<void>[] {
  return tokens.map(async (token, index) => {
    const { price } = token
    if (price === null || price.chain === null) return
    const { chain, address } = price
    const field = `tokens[${index}].price`
    const symbol = price.quote?.toUpperCase()
    const quote = tokens.find((each) => each.symbol.toUpperCase() === symbol) ?? null
    const problem = await price.prove(
      (view, args) => callView(sourceOf(chain), { field, address, view, args }),
      { token, quote },
    )
    if (problem !== undefined) throw new ProofError(`${field}.${problem.field}`, problem.message)
  })
}
