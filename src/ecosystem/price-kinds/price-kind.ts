import type { Static, TObject, TProperties } from 'typebox'
import { addressText, chainName } from '../fields.ts'
import type { PriceSource } from '../priced-token.ts'
import type { Resolver } from '../resolver.ts'

/** A way to know a token's price. */
export interface PriceKind<Kind extends string, Fields extends TProperties> {
  readonly kind: Kind
  /** In the file besides `kind`, all required; a description follows "is missing:". */
  readonly fields: Fields
  /** Null after a problem. */
  resolve(context: PriceContext, price: Static<TObject<Fields>>): PriceSource | null
}

export interface PriceContext {
  readonly resolver: Resolver
  /** Such as `tokens[0].price`. */
  readonly field: string
}

/** Hides the type of the fields, so that all kinds fit into one list. */
export function definePriceKind<const Kind extends string, Fields extends TProperties>(
  kind: PriceKind<Kind, Fields>,
) {
  return {
    ...kind,
    resolve: (context: PriceContext, price: unknown) =>
      kind.resolve(context, price as Static<TObject<Fields>>),
  }
}

/** What every price from a contract has in the file. */
export const contractFields = {
  chain: chainName,
  address: {
    ...addressText,
    description:
      'the pool or feed: 0x and 40 hex digits, with the EIP-55 checksum if in mixed case',
  },
}

/** Undefined after a problem. */
export function resolveContract(
  { resolver, field }: PriceContext,
  price: { readonly chain: string; readonly address: string },
) {
  const chain = resolver.chain(`${field}.chain`, price.chain)
  const address = resolver.address(`${field}.address`, price.address)
  return chain && { chain, address }
}
