import { type Address, showAddress } from '#base/address.ts'
import { eventKinds } from '#data/kinds.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'

/** Labels addresses by their role in the ecosystem file, such as a pool; the first label of an address wins. */
export function listLabels(ecosystem: Ecosystem): Readonly<Record<string, string>> {
  const { file, tokens, burnAddresses, nonCirculating, bridges, payment } = ecosystem
  const labels: (readonly [Address | undefined, string])[] = [
    ...nonCirculating.map(
      (address, index) => [address, file.supply?.nonCirculating?.[index]?.label ?? ''] as const,
    ),
    ...burnAddresses.map((address) => [address, 'burn address'] as const),
    ...tokens.flatMap(({ symbol, addresses, prices }) => [
      ...[...addresses.values()].map((address) => [address, `${symbol} contract`] as const),
      ...prices.flatMap((price) =>
        price.chain === null || price.quote === null
          ? []
          : [[price.address, `${symbol}/${price.quote} pool`] as const],
      ),
    ]),
    ...bridges.map(({ address }) => [address, 'bridge'] as const),
    ...eventKinds.flatMap(({ part, tag }) =>
      ecosystem[part].map(
        ({ address }) => [address, `contract of ${tag.name.toLowerCase()}`] as const,
      ),
    ),
    ...(payment?.payTo ?? []).map(({ address }) => [address, 'payments of this service'] as const),
  ]
  const known = labels.flatMap(([address, label]) =>
    address === undefined ? [] : [[showAddress(address), label] as const],
  )
  return Object.fromEntries(known.toReversed())
}
