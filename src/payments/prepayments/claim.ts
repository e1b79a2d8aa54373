import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Hash } from '#base/address.ts'
import type { PayerProof } from '#base/payer-proof.ts'
import { unixNow } from '#base/time.ts'
import type { Context } from '#context.ts'
import type { Connection } from '#db/engine.ts'
import { column, defineCodec, join, type RowOf, type Sql, sql } from '#db/sql.ts'
import { type Retained, START } from '#index/retained.ts'
import { requirePayment } from '#payments/x402/offer.ts'
import { CREDIT_MAX, type Credit, listLiveCredits } from './credit.ts'
import type { Deposit, KnownDeposits, Reads } from './deposits.ts'

/** Level of proof for a claim, weakest first. */
export const TRUSTS = ['none', 'payer', 'owner'] as const

export const claims = defineCodec({
  id: column.text,
  publicId: column.text,
  txHash: column.hex,
  owner: column.hex,
  payerAddress: column.hex,
  byOwner: column.flag,
  trust: column.placeIn(TRUSTS),
  claimedMicroUsd: column.amount,
  createdUnix: column.integer,
  /** Start of the 24 hours in which the transfer is awaited. */
  openedUnix: column.integer,
  /** Whether it was ever credited, perhaps before a reorg: the money returns to it. */
  wasCredited: column.flag,
})

/** Says that a transaction pays for a key; proves nothing by itself. */
export type Claim = RowOf<typeof claims>

/** After a day the transaction was most likely replaced; posting again reopens the claim. */
export const CLAIM_TTL_SECONDS = 86_400

export async function lockClaim(connection: Connection, id: string): Promise<Claim | undefined> {
  const [row] = await connection.run(sql`
    update claims set id = id where id = ${id} returning ${claims.columns}`)
  return row && claims.read(row)
}

export type ClaimName = { readonly id: string } | { readonly txHash: Hash }

export async function findClaim(ctx: Context, name: ClaimName): Promise<Claim | undefined> {
  const which = 'id' in name ? sql`where id = ${name.id}` : firstOfTransaction(ctx, name.txHash)
  const [row] = await ctx.accounts.read(sql`select ${claims.columns} from claims ${which}`)
  return row && claims.read(row)
}

function firstOfTransaction(ctx: Context, txHash: Hash): Sql {
  return sql`where tx_hash = ${txHash}
    order by case when exists (
        select 1 from credits where claim_id = claims.id and reversed_unix is null) then 0
      when was_credited = 1 then 1 else 2 end,
      case when exists (
        select 1 from deposits
        where chain_id = ${requirePayment(ctx).chain.id} and tx_hash = claims.tx_hash
          and (sender = owner or ${IS_SIGNED})) then 0 else 1 end,
      case when trust = ${TRUSTS.indexOf('owner')} then 0 else 1 end,
      case when opened_unix > ${unixNow(ctx.clock) - CLAIM_TTL_SECONDS} then 0 else 1 end,
      created_unix, id
    limit 1`
}

/** Whether the sender of a deposit signed for the claim. */
export const IS_SIGNED = sql`exists (
  select 1 from claim_proofs
  where claim_id = claims.id and claim_proofs.payer_address = deposits.sender)`

/** What a payer posts to prove consent. */
export type PostedProof = Omit<PayerProof, 'chainId' | 'byContract' | 'freshness'>

export async function isContractProofStored({ accounts }: Context, proof: PostedProof) {
  const found = await accounts.read(sql`
    select claims.id from claim_proofs join claims on claims.id = claim_proofs.claim_id
    where claims.public_id = ${proof.publicId} and claims.tx_hash = ${proof.txHash}
      and claim_proofs.payer_address = ${proof.payerAddress} and by_contract = 1
      and message = ${proof.message} and signature = ${proof.signature}`)
  return found.length === 1
}

/** The text and signature by which a payer agreed to pay for the key. */
export type Proof = Pick<PayerProof, 'message' | 'signature' | 'byContract'>

export type CheckedClaim = Pick<
  Claim,
  'publicId' | 'txHash' | 'owner' | 'payerAddress' | 'claimedMicroUsd'
> & {
  readonly proof: Proof | undefined
  /** `owner`: posted with an owner's key; `payer`: with a payer's proof. */
  readonly trust: Claim['trust']
}

/** Adds a qualifying payer to the key's earlier claim on this transaction, so that a stranger's post cannot block the owner. */
export async function registerClaim(ctx: Context, posted: CheckedClaim) {
  const nowUnix = unixNow(ctx.clock)
  const isByOwner = posted.payerAddress === posted.owner
  return ctx.accounts.write(async (tx) => {
    const id = randomUUID()
    const [row] = await tx.run(sql`
      insert into claims (id, public_id, tx_hash, owner, payer_address, by_owner, trust,
        claimed_micro_usd, created_unix, opened_unix)
      values (${id}, ${posted.publicId}, ${posted.txHash}, ${posted.owner},
        ${posted.payerAddress}, ${isByOwner ? 1 : 0}, ${TRUSTS.indexOf(posted.trust)},
        ${posted.claimedMicroUsd}, ${nowUnix}, ${nowUnix})
      on conflict (public_id, tx_hash) do update set id = claims.id returning ${claims.columns}`)
    assert(row !== undefined, 'the claim is stored')
    const claim = claims.read(row)
    const hasNewProof = await storeProof(tx, claim, posted)
    if (claim.id === id) return { isNew: true, claim }
    return { isNew: false, claim: await revisit(tx, claim, posted, hasNewProof, nowUnix) }
  })
}

async function revisit(
  tx: Connection,
  before: Claim,
  posted: CheckedClaim,
  hasNewProof: boolean,
  nowUnix: number,
): Promise<Claim> {
  const isOwners = posted.trust === 'owner'
  const isPast = before.openedUnix <= nowUnix - CLAIM_TTL_SECONDS
  const isNewOwner = !before.byOwner && posted.payerAddress === posted.owner
  const isNewPayer = hasNewProof || isNewOwner
  // Anyone may add payers, but only the owner changes the record that is shown, or extends it.
  const isShownByAll = before.trust !== 'owner'
  const renews = (isPast && (isOwners || isShownByAll)) || (isNewPayer && before.wasCredited)
  const shows = isOwners || (isNewOwner && isShownByAll)
  const claim: Claim = {
    ...before,
    payerAddress: shows ? posted.payerAddress : before.payerAddress,
    byOwner: before.byOwner || isNewOwner,
    trust: isOwners ? 'owner' : before.trust,
    openedUnix: renews ? nowUnix : before.openedUnix,
  }
  await tx.run(sql`
    update claims set payer_address = ${claim.payerAddress}, by_owner = ${claim.byOwner ? 1 : 0},
      trust = ${TRUSTS.indexOf(claim.trust)}, opened_unix = ${claim.openedUnix}
    where id = ${claim.id}`)
  return claim
}

/** Returns whether the claim has a new payer. */
async function storeProof(tx: Connection, claim: Claim, { payerAddress, proof }: CheckedClaim) {
  if (proof === undefined) return false
  const stored = await tx.run(sql`
    insert into claim_proofs (claim_id, payer_address, message, signature, by_contract)
    values (${claim.id}, ${payerAddress}, ${proof.message}, ${proof.signature},
      ${proof.byContract ? 1 : 0})
    on conflict (claim_id, payer_address) do nothing returning claim_id`)
  return stored.length === 1
}

/** Deletes claims without money, since anyone may post any hash; the audit needs the others. */
export const RETAINED_CLAIMS: Retained = {
  // Enough for questions about last month.
  keepDays: 35,
  atOnce: { sqlite: 500, postgres: 500 },
  async deletePage(connection, { beforeUnix, limit }) {
    // Locks the claims, so that they get no new proofs, and skips those reopened meanwhile.
    const locked = await connection.run(sql`
      update claims set id = id where was_credited = 0 and id in (
        select id from claims where was_credited = 0 and opened_unix <= ${beforeUnix}
        order by opened_unix, id limit ${limit}) returning id`)
    const ids = locked.map((row) => column.text(row, 'id'))
    if (ids.length > 0) {
      await connection.run(sql`delete from claim_proofs where claim_id in (${join(ids)})`)
      await connection.run(sql`delete from claims where id in (${join(ids)})`)
    }
    return { place: START, isDone: ids.length < limit }
  },
}

/** What is stored of a claim besides its deposits: the senders who signed for it, and its transaction's live credits. */
export async function readEvidence(reads: Reads, claim: Claim) {
  const proofs = await reads.run(sql`
    select payer_address from claim_proofs where claim_id = ${claim.id}`)
  return {
    provenPayers: new Set(proofs.map((row) => column.hex(row, 'payer_address'))),
    credits: await listLiveCredits(reads, claim.txHash),
  }
}

type Evidence = Awaited<ReturnType<typeof readEvidence>> & {
  /** Has at least one deposit. */
  readonly known: KnownDeposits
}

/** Judges by the chain, not by the claim: the sender must own the key or have signed, and the deposit must not be credited yet. `payable`: to credit now. */
export function judgeClaim(ctx: Context, claim: Claim, evidence: Evidence) {
  const { known, credits } = evidence
  const { deposits } = known
  const { confirmations: requiredConfirmations } = requirePayment(ctx)
  const [first] = deposits
  assert(first !== undefined, 'only claims with deposits are judged')
  const depth = Math.max(0, known.head.number - first.blockNumber)
  const confirmations = Math.min(depth, requiredConfirmations)
  const waiting = { status: 'confirming', confirmations, payable: [] } as const
  if (depth < requiredConfirmations) return waiting
  // Waits for the other block's reversal, or the money would count twice.
  if (credits.some(({ blockHash }) => blockHash !== first.blockHash)) return waiting
  // An unproven log may be made up, so neither credit nor reject.
  if (deposits.some(({ proven }) => !proven)) return waiting
  const qualifying = deposits.filter((deposit) => qualifies(claim, evidence, deposit))
  if (qualifying.length === 0) return { ...waiting, status: 'unlinked' as const }
  const payable = qualifying.filter((each) => !credits.some((credit) => isCreditFor(credit, each)))
  if (payable.length === 0 && !credits.some((credit) => credit.claimId === claim.id))
    return { ...waiting, status: 'rejected' as const }
  if (payable.some(({ amount }) => amount > CREDIT_MAX)) return waiting
  return { ...waiting, payable }
}

/** Whether a credit belongs to this deposit: by log, else by position, which an edit of `payTo` can shift. */
function isCreditFor(credit: Credit, deposit: Deposit): boolean {
  const isSameLog = credit.blockHash === deposit.blockHash && credit.logIndex === deposit.logIndex
  return isSameLog || credit.positionInTx === deposit.positionInTx
}

/** A `payerAddress` without a signature proves nothing. */
function qualifies(claim: Claim, evidence: Evidence, { sender }: Deposit): boolean {
  return evidence.provenPayers.has(sender) || (claim.byOwner && sender === claim.owner)
}
