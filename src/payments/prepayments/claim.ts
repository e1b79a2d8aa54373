import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Address, Hash } from '#base/address.ts'
import { unixNow } from '#base/time.ts'
import type { Context } from '#context.ts'
import type { Connection } from '#db/engine.ts'
import { column, defineCodec, join, type RowOf, type Sql, sql } from '#db/sql.ts'
import { type Retained, START } from '#index/retained.ts'
import { type Reads, UNCREDITED } from './deposits.ts'

/** Level of proof for a claim, weakest first. */
const TRUSTS = ['none', 'payer', 'owner'] as const

export type Trust = (typeof TRUSTS)[number]

const claims = defineCodec({
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

interface NewClaim extends Omit<Claim, 'createdUnix' | 'openedUnix' | 'wasCredited'> {
  readonly nowUnix: number
}

/** Returns undefined if the key already claimed this transaction. */
async function insertClaim(connection: Connection, claim: NewClaim): Promise<Claim | undefined> {
  const [row] = await connection.run(sql`
    insert into claims (id, public_id, tx_hash, owner, payer_address, by_owner, trust,
      claimed_micro_usd, created_unix, opened_unix)
    values (${claim.id}, ${claim.publicId}, ${claim.txHash}, ${claim.owner},
      ${claim.payerAddress}, ${claim.byOwner ? 1 : 0}, ${TRUSTS.indexOf(claim.trust)},
      ${claim.claimedMicroUsd}, ${claim.nowUnix}, ${claim.nowUnix})
    on conflict (public_id, tx_hash) do nothing returning ${claims.columns}`)
  return row && claims.read(row)
}

async function lockClaim(
  connection: Connection,
  input: { readonly publicId: string; readonly txHash: Hash },
): Promise<Claim | undefined> {
  const [row] = await connection.run(sql`
    update claims set id = id
    where public_id = ${input.publicId} and tx_hash = ${input.txHash} returning ${claims.columns}`)
  return row && claims.read(row)
}

export async function lockClaimById(
  connection: Connection,
  id: string,
): Promise<Claim | undefined> {
  const [row] = await connection.run(sql`
    update claims set id = id where id = ${id} returning ${claims.columns}`)
  return row && claims.read(row)
}

export async function findClaimById(reads: Reads, id: string): Promise<Claim | undefined> {
  const [row] = await reads.run(sql`select ${claims.columns} from claims where id = ${id}`)
  return row && claims.read(row)
}

export async function findClaimByTx(
  reads: Reads,
  input: {
    readonly txHash: Hash
    readonly senders: readonly Address[]
    readonly nowUnix: number
  },
): Promise<Claim | undefined> {
  const [row] = await reads.run(sql`
    select ${claims.columns} from claims where tx_hash = ${input.txHash}
    order by case when exists (
        select 1 from credits where claim_id = claims.id and reversed_unix is null) then 0
      when was_credited = 1 then 1 else 2 end,
      case when ${isOfSender(input.senders)} then 0 else 1 end,
      case when trust = ${TRUSTS.indexOf('owner')} then 0 else 1 end,
      case when opened_unix > ${input.nowUnix - CLAIM_TTL_SECONDS} then 0 else 1 end,
      created_unix, id
    limit 1`)
  return row && claims.read(row)
}

function isOfSender(senders: readonly Address[]): Sql {
  if (senders.length === 0) return sql`1 = 0`
  return sql`owner in (${join(senders)}) or exists (
    select 1 from claim_proofs
    where claim_id = claims.id and claim_proofs.payer_address in (${join(senders)}))`
}

async function updateClaim(connection: Connection, claim: Claim): Promise<void> {
  await connection.run(sql`
    update claims set payer_address = ${claim.payerAddress}, by_owner = ${claim.byOwner ? 1 : 0},
      trust = ${TRUSTS.indexOf(claim.trust)}, opened_unix = ${claim.openedUnix}
    where id = ${claim.id}`)
}

export async function markCredited(connection: Connection, id: string): Promise<void> {
  await connection.run(sql`update claims set was_credited = 1 where id = ${id}`)
}

/** Reopens the claim after a reorg, in case the transaction is mined again. */
export async function reopenClaim(
  connection: Connection,
  { id, nowUnix }: { readonly id: string; readonly nowUnix: number },
): Promise<void> {
  await connection.run(sql`update claims set opened_unix = ${nowUnix} where id = ${id}`)
}

export async function findProof(
  reads: Reads,
  named: { readonly publicId: string; readonly txHash: Hash; readonly payerAddress: Address },
): Promise<{ readonly message: string; readonly signature: string } | undefined> {
  const [row] = await reads.run(sql`
    select message, signature from claim_proofs join claims on claims.id = claim_proofs.claim_id
    where claims.public_id = ${named.publicId} and claims.tx_hash = ${named.txHash}
      and claim_proofs.payer_address = ${named.payerAddress} and claim_proofs.by_contract = 1`)
  if (row === undefined) return undefined
  return { message: column.text(row, 'message'), signature: column.text(row, 'signature') }
}

async function insertProof(
  connection: Connection,
  proof: {
    readonly claimId: string
    readonly payerAddress: Address
    readonly message: string
    readonly signature: string
    readonly byContract: boolean
  },
): Promise<boolean> {
  const stored = await connection.run(sql`
    insert into claim_proofs (claim_id, payer_address, message, signature, by_contract)
    values (${proof.claimId}, ${proof.payerAddress}, ${proof.message}, ${proof.signature},
      ${proof.byContract ? 1 : 0})
    on conflict (claim_id, payer_address) do nothing returning claim_id`)
  return stored.length === 1
}

/** Returns the senders who signed for a claim. */
export async function readProvenPayers(reads: Reads, claimId: string): Promise<Set<Address>> {
  const found = await reads.run(sql`
    select payer_address from claim_proofs where claim_id = ${claimId}`)
  return new Set(found.map((row) => column.hex(row, 'payer_address')))
}

/**
 * Lists claims that a proven and deep deposit without a credit pays for, in the order in which they get it: credited
 * before a reorg, posted with an owner's key, signed by the sender, the oldest.
 */
export async function creditableClaims(
  reads: Reads,
  input: {
    readonly chainId: number
    readonly deepNumber: number
    /** Claims that hold money may have got another payer since. */
    readonly sinceUnix: number
    readonly limit: number
  },
): Promise<Claim[]> {
  const isSigned = sql`exists (
    select 1 from claim_proofs
    where claim_id = claims.id and claim_proofs.payer_address = deposits.sender)`
  const ofClaim = sql`deposits.chain_id = ${input.chainId} and deposits.tx_hash = claims.tx_hash`
  const found = await reads.run(sql`
    select ${claims.columns} from claims
    where id in (
        select id from claims where was_credited = 0
        union all select id from claims where opened_unix > ${input.sinceUnix}
        union all select claim_id from credits where reversed_unix is not null and restored = 0)
      -- Adding 0 keeps SQLite from reading every deposit up to that block.
      and exists (
        select 1 from deposits
        where ${ofClaim} and proven = 1 and block_number + 0 <= ${input.deepNumber}
          and (${isSigned} or (by_owner = 1 and sender = owner)) and ${UNCREDITED})
    order by was_credited desc,
      case when trust = ${TRUSTS.indexOf('owner')} then 0
        when exists (select 1 from deposits where ${ofClaim} and ${isSigned}) then 1 else 2 end,
      created_unix, id
    limit ${input.limit}`)
  return found.map(claims.read)
}

/** The text and signature by which a payer agreed to pay for the key. */
export interface Proof {
  readonly message: string
  readonly signature: string
  readonly byContract: boolean
}

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

/** Adds a qualifying payer to an existing claim, so that a stranger's earlier post cannot block the owner. */
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
  // Anyone may add payers, but only the owner changes the record that is shown, or extends it.
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
