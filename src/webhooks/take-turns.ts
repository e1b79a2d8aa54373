import type { Webhook } from './webhook.ts'
import { hostOf } from './webhook-url.ts'

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
 * Which of these may be sent to now, so that no wallet and no host keeps the others waiting. They
 * come in turn by wallet.
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
  return byTurn(due).filter((each) => {
    if (!isFree(each)) return false
    take(each)
    return true
  })
}

/** One of each wallet and host, then a second of each, and so on. */
function byTurn<T extends Turn>(due: readonly T[]): readonly T[] {
  const counts = new Map<string, number>()
  const next = (name: string) => {
    const count = (counts.get(name) ?? 0) + 1
    counts.set(name, count)
    return count
  }
  const turnOf = ({ webhook: { wallet, url } }: Turn) => Math.max(next(wallet), next(hostName(url)))
  return due
    .map((each) => ({ each, turn: turnOf(each) }))
    .toSorted((a, b) => a.turn - b.turn)
    .map(({ each }) => each)
}

function hostName(url: string): string {
  return `host ${hostOf(new URL(url))}`
}
