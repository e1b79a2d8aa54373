import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Context } from '#context.ts'
import type { Address, Hash } from '#domain/address.ts'
import { unixNow } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import {
  CLAIM_TTL_SECONDS,
  type Claim,
  insertClaim,
  insertProof,
  lockClaim,
  type Trust,
  updateClaim,
} from './claim.ts'
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

export interface Registered {
  readonly kind: 'created' | 'existing'
  readonly claim: Claim
}

/** A stranger's earlier post never blocks the owner: qualifying payers are added to it. */
export async function registerClaim(ctx: Context, input: CheckedClaim): Promise<Registered> {
  const nowUnix = unixNow(ctx.clock)
  return ctx.accounts.write(async (connection) => {
    const before = await lockClaim(connection, input)
    if (before !== undefined) return revisit(connection, before, { input, nowUnix })
    const byOwner = input.payerAddress === input.owner
    const claim = await insertClaim(connection, { ...input, id: randomUUID(), byOwner, nowUnix })
    if (claim === undefined) {
      const meanwhile = await lockClaim(connection, input)
      assert(meanwhile !== undefined, 'a claim that stood in the way is there')
      return revisit(connection, meanwhile, { input, nowUnix })
    }
    await storeProof(connection, claim, input)
    return { kind: 'created', claim }
  })
}

async function revisit(
  connection: Connection,
  before: Claim,
  { input, nowUnix }: { readonly input: CheckedClaim; readonly nowUnix: number },
): Promise<Registered> {
  const isOwners = input.trust === 'owner'
  const isPast = before.openedUnix <= nowUnix - CLAIM_TTL_SECONDS
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
