import assert from 'node:assert/strict'
import type { Address, Hash } from '#domain/address.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { unixNow } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import {
  CLAIM_TTL_SECONDS,
  type Claim,
  type ClaimStatus,
  isOpen,
  OPEN_CLAIMS_MAX,
  type Trust,
} from './claim.ts'
import {
  evictClaims,
  insertClaim,
  insertProof,
  lockClaim,
  placedClaimsOf,
  updateClaim,
} from './claim-store.ts'
import type { PaymentsDeps } from './payments-deps.ts'
import { readSeen } from './read-seen.ts'

export interface CheckedClaim {
  readonly publicId: string
  readonly txHash: Hash
  readonly owner: Address
  readonly payerAddress: Address
  readonly claimedMicroUsd: bigint
  readonly proof: { readonly message: string; readonly signature: string } | undefined
  /** `owner`: posted with an owner's key; `payer`: with a payer's proof. */
  readonly trust: Trust
}

export type Registered = { readonly kind: 'created' | 'existing'; readonly claim: Claim } | Refusal

interface Post {
  readonly input: CheckedClaim
  readonly nowUnix: number
  readonly seen: ReadonlySet<Hash>
}

/** A stranger's earlier post never blocks the owner: qualifying payers are added to it. */
export async function registerClaim(deps: PaymentsDeps, input: CheckedClaim): Promise<Registered> {
  const post: Post = { input, nowUnix: unixNow(deps.clock), seen: await seenBefore(deps, input) }
  return deps.engine.write(async (connection) => {
    const before = await lockClaim(connection, input)
    if (before !== undefined) return revisit(connection, before, post)
    const full = await makeRoom(connection, post)
    if (full !== undefined) return full
    const { nowUnix } = post
    const byOwner = input.payerAddress === input.owner
    const claim = await insertClaim(connection, { ...input, id: deps.newId(), byOwner, nowUnix })
    if (claim === undefined) {
      const meanwhile = await lockClaim(connection, input)
      assert(meanwhile !== undefined, 'a claim that stood in the way is there')
      return revisit(connection, meanwhile, post)
    }
    await storeProof(connection, claim, input)
    return { kind: 'created', claim }
  })
}

/** Before the transaction, which must not wait for the other store. */
async function seenBefore(deps: PaymentsDeps, input: CheckedClaim): Promise<Set<Hash>> {
  const { publicId, trust, txHash } = input
  const placed = await placedClaimsOf({ run: deps.engine.read }, { publicId, share: trust })
  const seen = await readSeen(deps, [txHash, ...placed.map((claim) => claim.txHash)])
  return new Set(seen.map((deposit) => deposit.txHash))
}

async function revisit(connection: Connection, before: Claim, post: Post): Promise<Registered> {
  const { input, nowUnix } = post
  const isOwners = input.trust === 'owner'
  const reopens = mayReopen(before.status)
  const share = isOwners || reopens ? input.trust : before.share
  const takesPlace = reopens || (before.status === 'pending' && share !== before.share)
  if (takesPlace) {
    const full = await makeRoom(connection, post)
    if (full !== undefined) return full
  }
  const isNewOwner = !before.byOwner && input.payerAddress === input.owner
  const isNewPayer = (await storeProof(connection, before, input)) || isNewOwner
  const isPast = before.openedUnix <= nowUnix - CLAIM_TTL_SECONDS
  const renews = reopens || (isPast && before.status === 'reversed') || (isOwners && isPast)
  // Strangers may add payers, but only the owner changes what is shown.
  const shows = isOwners || (isNewOwner && before.trust !== 'owner')
  const claim: Claim = {
    ...before,
    payerAddress: shows && before.status !== 'verified' ? input.payerAddress : before.payerAddress,
    byOwner: before.byOwner || isNewOwner,
    trust: isOwners ? 'owner' : before.trust,
    share,
    evicted: before.evicted && !takesPlace,
    status: reopens ? 'pending' : before.status,
    openedUnix: renews ? nowUnix : before.openedUnix,
    lookAgain: before.lookAgain || (before.status === 'verified' && isNewPayer),
  }
  await updateClaim(connection, claim)
  return { kind: 'existing', claim }
}

function mayReopen(status: ClaimStatus): boolean {
  return !isOpen(status) && status !== 'verified' && status !== 'reversed'
}

async function storeProof(
  connection: Connection,
  claim: Claim,
  input: CheckedClaim,
): Promise<boolean> {
  if (input.proof === undefined) return false
  const { payerAddress } = input
  return insertProof(connection, { ...input.proof, claimId: claim.id, payerAddress })
}

/**
 * Separate limits per share, so that strangers cannot exhaust the owner's. Among strangers the
 * oldest is evicted (but still watched): a refusal would let them lock the owner out.
 */
async function makeRoom(connection: Connection, post: Post): Promise<Refusal | undefined> {
  const { input, seen } = post
  if (seen.has(input.txHash)) return undefined
  const { publicId, trust } = input
  const unseen = (await placedClaimsOf(connection, { publicId, share: trust })).filter(
    (claim) => !seen.has(claim.txHash),
  )
  const excess = unseen.length - OPEN_CLAIMS_MAX + 1
  if (excess <= 0) return undefined
  if (trust === 'owner') return refuseFull()
  const ids = unseen.slice(0, excess).map((claim) => claim.id)
  await evictClaims(connection, ids)
  return undefined
}

function refuseFull(): Refusal {
  return refuse(
    'rate_limited',
    `this key has ${OPEN_CLAIMS_MAX} open prepayments whose transactions are not on the chain yet; wait until some are confirmed or expire`,
    { retryAfterSeconds: 3_600 },
  )
}
