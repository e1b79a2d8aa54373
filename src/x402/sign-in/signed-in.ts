import { LRUCache } from 'lru-cache'
import type { Address } from '#domain/address.ts'
import type { Caller } from '#domain/caller.ts'
import { isRefusal, type Refusal } from '#domain/refusal.ts'
import { payerBucket } from '#ledger/account.ts'
import { unixNow } from '#lib/clock.ts'
import { recoverWithin } from '../recovery-guard.ts'
import type { X402Deps } from '../x402-deps.ts'
import { accountsToCollect, collectCredits } from './collect-credits.ts'
import { readSignIn, type SignIn, type SignInDeps, type SignInFault } from './sign-in-message.ts'
import { SIGN_IN_WITH_X } from './sign-in-offer.ts'
import { bindSignIn } from './sign-in-store.ts'

type Deps = Pick<X402Deps, 'engine' | 'newId' | 'recoveries'> & SignInDeps

/** Who is behind a call without a key, as far as its sign-in tells. */
export type Visitor =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'wallet'; readonly wallet: Address }
  | { readonly kind: 'refused'; readonly reason: SignInFault }
  /** Its address has sent too many wrong sign-ins to look at this one. */
  | { readonly kind: 'limited'; readonly refusal: Refusal }

interface Facts {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly addressBucket: string
}

/** Messages that were checked of late; at some kilobytes each, a few megabytes. */
const KNOWN_MAX = 1_000

/** Checks the sign-in that a request carries, and brings together what its wallet has paid. */
export function createVisitors(deps: Deps): (facts: Facts) => Promise<Visitor> {
  const known = new LRUCache<string, SignIn>({ max: KNOWN_MAX })
  return async ({ headers, addressBucket }) => {
    const header = headers[SIGN_IN_WITH_X]
    if (header === undefined) return { kind: 'unknown' }
    const name = `${addressBucket} ${String(header)}`
    const before = known.get(name)
    const isKnown = before !== undefined && before.untilMs > deps.clock()
    const recover = recoverWithin(deps.recoveries, addressBucket)
    const signIn = isKnown ? before : readSignIn(deps, header, recover)
    if (isRefusal(signIn)) return { kind: 'limited', refusal: signIn }
    if (typeof signIn === 'string') return { kind: 'refused', reason: signIn }
    if (!isKnown && !(await bind(deps, signIn, addressBucket)))
      return { kind: 'refused', reason: 'invalid_siwx_nonce' }
    known.set(name, signIn)
    await collect(deps, signIn.wallet)
    return { kind: 'wallet', wallet: signIn.wallet }
  }
}

function bind(deps: Deps, signIn: SignIn, addressBucket: string): Promise<boolean> {
  const nowMs = deps.clock()
  return deps.engine.write((connection) => bindSignIn(connection, { signIn, addressBucket, nowMs }))
}

async function collect(deps: Deps, wallet: Address): Promise<void> {
  const accounts = await accountsToCollect({ run: deps.engine.read }, wallet)
  if (accounts.length === 0) return
  const nowUnix = unixNow(deps.clock)
  await deps.engine.write((connection) => collectCredits(connection, deps, { wallet, nowUnix }))
}

/** Calls on the wallet's own balance; the free calls of its address are used up by then. */
export function signedInCaller(wallet: Address): Caller {
  const bucket = payerBucket(wallet)
  return {
    kind: 'anonymous',
    identity: `ip:${bucket}`,
    bucket,
    tier: 'anonymous',
    dailyQuota: 0,
  }
}
