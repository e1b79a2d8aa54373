import type { AbiEvent } from 'ox/AbiEvent'
import { type Static, type TInteger, type TObject, type TProperties, Type } from 'typebox'
import { addressText, chainName } from '../fields.ts'
import type { PriceSource } from '../priced-token.ts'
import type { PriceContext } from '../resolver.ts'

interface PriceKind<Kind extends string, Fields extends TProperties, Options extends TProperties> {
  readonly kind: Kind
  readonly events: readonly AbiEvent[]
  /** Required fields besides `kind` and `since`; a description follows "is missing:". */
  readonly fields: Fields
  /** Optional fields, described like `fields`. */
  readonly options: Options
  /** What the reference of the file says of fields that other kinds lack. */
  readonly meanings?: Readonly<Record<string, string>>
  resolve(context: PriceContext, price: PriceEntry<Fields, Options>): Resolved | null
}

/** A source without its place among those of the token. */
type Resolved = PriceSource extends infer Source
  ? Source extends PriceSource
    ? Omit<Source, 'since' | 'field'>
    : never
  : never

type PriceEntry<Fields extends TProperties, Options extends TProperties> = Static<
  TObject<Fields>
> & { readonly [Name in keyof Options]?: Static<Options[Name]> }

/** Hides the type of the fields, so that all kinds fit into one list. */
export function definePriceKind<
  const Kind extends string,
  Fields extends TProperties,
  Options extends TProperties = Record<never, TInteger>,
>(kind: Omit<PriceKind<Kind, Fields, Options>, 'options'> & { readonly options?: Options }) {
  return {
    ...kind,
    options: kind.options ?? ({} as Options),
    meanings: kind.meanings ?? {},
    resolve: (context: PriceContext, price: unknown) =>
      kind.resolve(context, price as PriceEntry<Fields, Options>),
  }
}

export const contractFields = {
  chain: chainName,
  address: {
    ...addressText,
    description:
      'the pool, vault or feed: 0x and 40 hex digits, with the EIP-55 checksum if in mixed case',
  },
}

/** For what may be old when it is the newest. */
export const agingOptions = {
  staleAfterSeconds: Type.Integer({
    minimum: 60,
    description: 'the age from which an answer no longer counts as a price',
  }),
}

/** Undefined for an unknown chain; a wrong address is reported and stands as the zero address. */
export function resolveContract(
  { resolver, field }: PriceContext,
  price: { readonly chain: string; readonly address: string },
) {
  const chain = resolver.chain(`${field}.chain`, price.chain)
  const address = resolver.address(`${field}.address`, price.address)
  return chain && { chain, address }
}
