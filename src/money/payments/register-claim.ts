import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Context } from '#context.ts'
import type { Address, Hash } from '#domain/address.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { unixNow } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import {
  awaitedByOwner,
  CLAIM_TTL_SECONDS,
  type Claim,
  insertClaim,
  insertProof,
  lockClaim,
  OPEN_CLAIMS_MAX,
  type Trust,
  updateClaim,
} from './claim.ts'
import { readKnown } from './judge-claim.ts'
import type { Proof } from './payer-proof.ts'

export interface CheckedClaim {
  readonly publicId: string
  readonly txHash: Hash
  readonly owner: Address
  readonly payerAddress: Address
  readonly claimedMicroUsd: bigint
  readonly proof: Proof | undefined
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
export async function registerClaim(ctx: Context, input: CheckedClaim): Promise<Registered> {
  const nowUnix = unixNow(ctx.clock)
  const post: Post = { input, nowUnix, seen: await seenBefore(ctx, input, nowUnix) }
  return ctx.accounts.write(async (connection) => {
    const before = await lockClaim(connection, input)
    if (before !== undefined) return revisit(connection, before, post)
    if (await isFull(connection, post)) return refuseFull()
    const byOwner = input.payerAddress === input.owner
    const claim = await insertClaim(connection, { ...input, id: randomUUID(), byOwner, nowUnix })
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
async function seenBefore(
  ctx: Context,
  { publicId, trust, txHash }: CheckedClaim,
  nowUnix: number,
): Promise<Set<Hash>> {
  if (trust !== 'owner') return new Set()
  const awaited = await awaitedByOwner({ run: ctx.accounts.read }, { publicId, nowUnix })
  const known = await readKnown(ctx, [txHash, ...awaited])
  return new Set(known?.deposits.map((deposit) => deposit.txHash))
}

async function revisit(connection: Connection, before: Claim, post: Post): Promise<Registered> {
  const { input, nowUnix } = post
  const isOwners = input.trust === 'owner'
  const isPast = before.openedUnix <= nowUnix - CLAIM_TTL_SECONDS
  const takesPlace = !before.wasCredited && (isPast || before.trust !== 'owner')
  if (takesPlace && (await isFull(connection, post))) return refuseFull()
  const isNewOwner = !before.byOwner && input.payerAddress === input.owner
  const isNewPayer = (await storeProof(connection, before, input)) || isNewOwner
  // Strangers may add payers, but only the owner changes and prolongs what is shown.
  const isShownByAll = before.trust !== 'owner'
  const renews = (isPast && (isOwners || isShownByAll)) || (isNewPayer && before.wasCredited)
  const shows = isOwners || (isNewOwner && isShownByAll)
  const claim: Claim = {
    ...before,
    payerAddress: shows ? input.payerAddress : before.payerAddress,
    byOwner: before.byOwner || isNewOwner,
    trust: isOwners ? 'owner' : before.trust,
    openedUnix: renews ? nowUnix : before.openedUnix,
  }
  await updateClaim(connection, claim)
  return { kind: 'existing', claim }
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
 * Only the owner's claims are counted: a refusal would let strangers lock the owner out, and theirs
 * cost no more than a row.
 */
async function isFull(connection: Connection, { input, nowUnix, seen }: Post): Promise<boolean> {
  const { publicId, trust, txHash } = input
  if (trust !== 'owner' || seen.has(txHash)) return false
  const awaited = await awaitedByOwner(connection, { publicId, nowUnix })
  return awaited.filter((each) => !seen.has(each)).length >= OPEN_CLAIMS_MAX
}

function refuseFull(): Refusal {
  return refuse(
    'rate_limited',
    `this key has ${OPEN_CLAIMS_MAX} open prepayments whose transactions are not on the chain yet; wait until some are confirmed or expire`,
    { retryAfterSeconds: 3_600 },
  )
}
