import { ZERO_ADDRESS } from '#base/address.ts'
import type { Chain, Payment } from './ecosystem.ts'
import type { EcosystemFile } from './ecosystem-file.ts'
import type { Resolver } from './resolver.ts'

/** Null without payments or after a problem. */
export function resolvePayment(file: EcosystemFile, resolver: Resolver): Payment | null {
  const { payment } = file
  if (payment === undefined) return null
  const chain = resolver.chain('payment.chain', payment.chain)
  const asset = resolver.address('payment.asset', payment.asset)
  const payTo = payment.payTo.map((each, index) => ({
    address: resolver.address(`payment.payTo[${index}].address`, each.address),
    since: each.since,
  }))
  for (const [index, each] of payTo.entries()) {
    const field = `payment.payTo[${index}].address`
    if (each.address === ZERO_ADDRESS && BigInt(payment.payTo[index]?.address ?? 0) === 0n)
      resolver.problems.add(field, 'is the zero address: payments to it would be lost')
    if (each.address === asset)
      resolver.problems.add(field, 'is the payment asset itself: payments to it would be lost')
    if ((payTo[index - 1]?.since ?? '') >= each.since)
      resolver.problems.add(
        `payment.payTo[${index}].since`,
        'must be later than the entry before; list the oldest first',
      )
  }
  if (payment.confirmations === 0 && chain !== undefined && !isLocal(chain))
    resolver.problems.add(
      'payment.confirmations',
      '0 is for development chains only; use 10 or more',
    )
  checkFacilitator(payment, resolver)
  if (chain === undefined) return null
  return { ...payment, chain, asset, payTo, decimals: 6 }
}

/** Payments and the headers that authenticate us cross the network. */
function checkFacilitator(
  { settle }: NonNullable<EcosystemFile['payment']>,
  { problems }: Resolver,
): void {
  if (settle === undefined) return
  const url = URL.parse(settle.facilitator)
  if (url !== null && (url.username || url.password || url.search || url.hash)) {
    problems.add(
      'payment.settle.facilitator',
      'must have neither credentials nor a query; send keys by SEXTON_FACILITATOR_HEADERS_FILE',
    )
    return
  }
  const isSafe =
    url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.includes(url.hostname))
  if (!isSafe)
    problems.add(
      'payment.settle.facilitator',
      `must be an https URL (got "${settle.facilitator}"); http is for 127.0.0.1 only`,
    )
}

const LOOPBACK: readonly string[] = ['127.0.0.1', 'localhost', '[::1]']

function isLocal(chain: Chain): boolean {
  return chain.rpcUrls.every((each) => LOOPBACK.includes(new URL(each).hostname))
}
