import type { ChainSource } from '#chains/chain/chain-source.ts'
import { openRpcSource } from '#chains/chain/rpc-source.ts'
import type { Chain } from '#chains/ecosystem/ecosystem.ts'
import { type Address, type Hash, ZERO_ADDRESS } from '#domain/address.ts'
import { TRANSFER_TOPIC } from '#domain/token.ts'

/** A figure of a token's contract that the register does not have. */
export interface FigureDifference {
  readonly contract: Address
  /** The zero address stands for the supply. */
  readonly holder: Address
  readonly onChain: bigint
}

/** Sums the transfers of each endpoint, to tell a node that lacks some from a token at fault. */
export async function explainDifference(
  { id: chainId, rpcUrls }: Pick<Chain, 'id' | 'rpcUrls'>,
  difference: FigureDifference,
  range: { readonly from: number; readonly to: number },
): Promise<string> {
  const sums = await Promise.all(
    rpcUrls.map(async (url) => {
      const source = openRpcSource({ chainId, urls: [url] })
      const sum = await sumTransfers(source, difference, range).catch(() => undefined)
      return { host: new URL(url).host, sum }
    }),
  )
  const hostsOf = (those: typeof sums) => those.map(({ host }) => host).join(', ')
  const answering = sums.filter(({ sum }) => sum !== undefined)
  const right = answering.filter(({ sum }) => sum === difference.onChain)
  const wrong = answering.filter(({ sum }) => sum !== difference.onChain)
  if (answering.length === 0) return 'no endpoint returned the transfers'
  if (right.length === 0) return UNEXPLAINED
  if (wrong.length === 0) return 'all transfers are on the chain; the register itself is wrong'
  return `the transfers of ${hostsOf(right)} explain it, those of ${hostsOf(wrong)} do not`
}

async function sumTransfers(
  source: Pick<ChainSource, 'history'>,
  { contract, holder }: FigureDifference,
  range: { readonly from: number; readonly to: number },
): Promise<bigint> {
  const topic: Hash = `0x${holder.slice(2).padStart(64, '0')}`
  const sumOf = async (topics: readonly (readonly Hash[] | null)[]) => {
    const pairs = [{ address: contract, topic0: TRANSFER_TOPIC }]
    const filter = { addresses: [contract], topics, pairs }
    let sum = 0n
    for await (const { columns } of source.history({ ...range, filter }))
      for (let index = 0; index < columns.count; index += 1) sum += BigInt(columns.log(index).data)
    return sum
  }
  const sent = await sumOf([[TRANSFER_TOPIC], [topic]])
  const received = await sumOf([[TRANSFER_TOPIC], null, [topic]])
  return holder === ZERO_ADDRESS ? sent - received : received - sent
}

/** Without a second opinion, a missing transfer and one that never was look alike. */
const UNEXPLAINED =
  'no endpoint returns transfers that explain it: the Transfer event of the token has another shape, it moves balances without Transfer events (rebasing, fees), so that its holders cannot be followed, or every endpoint lacks old history; add an archive endpoint to tell them apart'
