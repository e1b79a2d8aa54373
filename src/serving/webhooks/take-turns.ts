import type { Webhook } from './webhook.ts'

/** A request holds a socket and a few kilobytes. */
const REQUESTS_MAX = 512

/** Above this, only wallets without a request get one. */
const SHARED_MAX = 256

const PER_HOST_MAX = 8
const PER_WALLET_MAX = 8

interface Turn {
  readonly webhook: Pick<Webhook, 'url' | 'wallet'>
}

/**
 * Which of these, in their order, may be sent to now, so that no wallet and no host keeps the others
 * waiting.
 */
export function takeTurns<T extends Turn>(
  due: readonly T[],
  underWay: readonly Turn[],
): readonly T[] {
  const taken = new Map<string, number>()
  let total = 0
  const take = ({ webhook: { url, wallet } }: Turn) => {
    total += 1
    for (const name of [hostName(url), wallet]) taken.set(name, (taken.get(name) ?? 0) + 1)
  }
  const isFree = ({ webhook: { url, wallet } }: Turn) => {
    const ofWallet = taken.get(wallet) ?? 0
    const max = ofWallet === 0 ? REQUESTS_MAX : SHARED_MAX
    return (
      total < max && ofWallet < PER_WALLET_MAX && (taken.get(hostName(url)) ?? 0) < PER_HOST_MAX
    )
  }
  for (const each of underWay) take(each)
  return due.filter((each) => {
    if (!isFree(each)) return false
    take(each)
    return true
  })
}

function hostName(url: string): string {
  return `host ${new URL(url).hostname}`
}
