import type { Address, Hash } from '#domain/address.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { assert } from '#lib/assert.ts'
import { unixNow } from '#lib/clock.ts'
import type { Connection } from '#store/engine.ts'
import { type Claim, isOpen, OPEN_CLAIMS_MAX } from './claim.ts'
import {
  countOpenClaims,
  findClaim,
  insertClaim,
  insertProof,
  strengthenClaim,
} from './claim-store.ts'
import type { PaymentsDeps } from './payments-deps.ts'

/** A claim whose key, payer and proof were checked. */
export interface CheckedClaim {
  readonly publicId: string
  readonly txHash: Hash
  /** The wallet that owns the key. */
  readonly owner: Address
  readonly payerAddress: Address
  readonly claimedMicroUsd: bigint
  readonly proof: { readonly message: string; readonly signature: string } | undefined
  /** Posted with a key of the owner, or with a payer's proof. */
  readonly trusted: boolean
}

export type Registered = { readonly kind: 'created' | 'existing'; readonly claim: Claim } | Refusal

/**
 * Registers a claim, or finds the one that the key has on this transaction. What a stranger posted
 * before never stands in the way: a payer who qualifies is added to the claim that is there.
 */
export function registerClaim(deps: PaymentsDeps, input: CheckedClaim): Promise<Registered> {
  const nowUnix = unixNow(deps.clock)
  return deps.engine.write(async (connection) => {
    const before = await findClaim(connection, input)
    if (before !== undefined) return revisit(connection, { before, input, nowUnix })
    if (await isFull(connection, input)) return refuseFull()
    const byOwner = input.payerAddress === input.owner
    const claim = await insertClaim(connection, { ...input, id: deps.newId(), byOwner, nowUnix })
    if (claim === undefined) {
      const meanwhile = await findClaim(connection, input)
      assert(meanwhile !== undefined, 'a claim that stood in the way is there')
      return revisit(connection, { before: meanwhile, input, nowUnix })
    }
    await storeProof(connection, claim, input)
    return { kind: 'created', claim }
  })
}

interface Revisit {
  readonly before: Claim
  readonly input: CheckedClaim
  readonly nowUnix: number
}

/** The same record, perhaps knowing one more payer, perhaps open again. */
async function revisit(connection: Connection, visit: Revisit): Promise<Registered> {
  const { before, input, nowUnix } = visit
  if (before.status === 'verified') return { kind: 'existing', claim: before }
  const byOwner = before.byOwner || input.payerAddress === input.owner
  const isNewPayer = (await storeProof(connection, before, input)) || byOwner !== before.byOwner
  const reopens = before.status === 'expired' || before.status === 'reversed'
  if (!isNewPayer && !reopens) return { kind: 'existing', claim: before }
  const closed = before.status !== 'reversed' && !isOpen(before.status)
  if (closed && (await isFull(connection, input))) return refuseFull()
  const claim = await strengthenClaim(connection, {
    id: before.id,
    payerAddress: isNewPayer ? input.payerAddress : before.payerAddress,
    byOwner,
    status: closed ? 'pending' : before.status,
    openedUnix: nowUnix,
  })
  return { kind: 'existing', claim: claim ?? before }
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

/** Counted apart, so that strangers cannot use up what the owner may claim. */
async function isFull(connection: Connection, input: CheckedClaim): Promise<boolean> {
  return (await countOpenClaims(connection, input)) >= OPEN_CLAIMS_MAX
}

function refuseFull(): Refusal {
  return refuse(
    'rate_limited',
    `this key has ${OPEN_CLAIMS_MAX} open prepayments; send the key itself as Bearer, or wait`,
    { retryAfterSeconds: 3_600 },
  )
}
