import { setImmediate } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Address } from '#domain/address.ts'
import type { Caller } from '#domain/caller.ts'
import type { Refusal } from '#domain/refusal.ts'
import { payerBucket } from '#ledger/account.ts'
import { restoredSince } from '#ledger/restored-since.ts'
import { unixNow } from '#lib/time.ts'
import { recoverWithin } from '../recovery-guard.ts'
import type { X402Deps } from '../x402-deps.ts'
import { accountsToCollect, collectCredits } from './collect-credits.ts'
import {
  readSignIn,
  type SignIn,
  type SignInDeps,
  type SignInFault,
  type UnprovenSignIn,
} from './sign-in-message.ts'
import { SIGN_IN_WITH_X } from './sign-in-offer.ts'
import { bindSignIn, boundTo } from './sign-in-store.ts'

type Deps = Pick<X402Deps, 'engine' | 'newId' | 'recoveries'> & SignInDeps

export type Visitor =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'wallet'; readonly wallet: Address }
  | { readonly kind: 'refused'; readonly reason: SignInFault }
  | { readonly kind: 'limited'; readonly refusal: Refusal }

interface Facts {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly addressBucket: string
}

const KNOWN_MAX = 1_000

export function createVisitors(deps: Deps): (facts: Facts) => Promise<Visitor> {
  const known = new LRUCache<string, true>({ max: KNOWN_MAX })
  const myTurn = createTurns()
  return async ({ headers, addressBucket }) => {
    const header = headers[SIGN_IN_WITH_X]
    if (header === undefined) return { kind: 'unknown' }
    const read = readSignIn(deps, header)
    if (typeof read === 'string') return { kind: 'refused', reason: read }
    const name = `${addressBucket} ${read.name}`
    const refused = known.has(name)
      ? undefined
      : await check({ ...deps, myTurn }, read, addressBucket)
    if (refused !== undefined) return refused
    known.set(name, true)
    const { wallet } = read.signIn
    await collect(deps, wallet)
    return { kind: 'wallet', wallet }
  }
}

async function check(
  deps: Deps & { readonly myTurn: () => Promise<void> },
  { signIn, isSigned }: UnprovenSignIn,
  addressBucket: string,
): Promise<Visitor | undefined> {
  const reads = { run: deps.engine.read }
  if (await restoredSince(reads, Math.floor(signIn.usableFromMs / 1000)))
    return { kind: 'refused', reason: 'invalid_siwx_issued_at_too_old' }
  const bound = await boundTo(reads, signIn)
  if (bound !== undefined && bound !== addressBucket) return refuseReplay(deps, addressBucket)
  await deps.myTurn()
  const signed = recoverWithin(deps.recoveries, addressBucket)(isSigned)
  if (signed === false) return { kind: 'refused', reason: 'invalid_siwx_signature' }
  if (signed !== true) return { kind: 'limited', refusal: signed }
  return (await bind(deps, signIn, addressBucket)) ? undefined : refuseReplay(deps, addressBucket)
}

/** One recovery per turn of the event loop, so that other calls proceed. */
function createTurns(): () => Promise<void> {
  let last: Promise<void> = Promise.resolve()
  return () => {
    last = last.then(() => setImmediate())
    return last
  }
}

/** Apart from invalid signatures, so that a caller whose address changed can sign in again. */
function refuseReplay({ recoveries }: Deps, addressBucket: string): Visitor {
  const name = `replays of ${addressBucket}`
  const refusal = recoveries.refusal(name)
  if (refusal !== undefined) return { kind: 'limited', refusal }
  recoveries.failed(name)
  return { kind: 'refused', reason: 'invalid_siwx_nonce' }
}

function bind(deps: Deps, signIn: SignIn, addressBucket: string): Promise<boolean> {
  return deps.engine.write((connection) => bindSignIn(connection, { signIn, addressBucket }))
}

async function collect(deps: Deps, wallet: Address): Promise<void> {
  const accounts = await accountsToCollect({ run: deps.engine.read }, wallet)
  if (accounts.length === 0) return
  const nowUnix = unixNow(deps.clock)
  await deps.engine.write((connection) => collectCredits(connection, deps, { wallet, nowUnix }))
}

/** Without free calls: its address's are used up. */
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
