import type { Address, Hash } from '#domain/address.ts'
import type { Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { join, type Sql, sql } from '#store/sql.ts'
import { CLAIM_TTL_SECONDS, type Claim, type ClaimStatus } from './claim.ts'

/** Anything that runs a statement: a transaction, a snapshot, or single reads. */
export interface Reads {
  run(statement: Sql): Promise<readonly Row[]>
}

const COLUMNS = sql`id, public_id, tx_hash, owner, payer_address, by_owner, claimed_micro_usd,
  status, credited_micro_usd, confirmations, created_unix, opened_unix, verified_unix`

const WATCHED = sql`status in ('pending', 'confirming', 'reversed')`

export interface NewClaim {
  readonly id: string
  readonly publicId: string
  readonly txHash: Hash
  readonly owner: Address
  readonly payerAddress: Address
  readonly byOwner: boolean
  readonly trusted: boolean
  readonly claimedMicroUsd: bigint
  readonly nowUnix: number
}

/** Undefined when the key has a claim on this transaction already. */
export async function insertClaim(
  connection: Connection,
  claim: NewClaim,
): Promise<Claim | undefined> {
  const [row] = await connection.run(sql`
    insert into claims (id, public_id, tx_hash, owner, payer_address, by_owner, trusted,
      claimed_micro_usd, status, credited_micro_usd, confirmations, created_unix, opened_unix,
      verified_unix, checked_ms)
    values (${claim.id}, ${claim.publicId}, ${claim.txHash}, ${claim.owner},
      ${claim.payerAddress}, ${claim.byOwner ? 1 : 0}, ${claim.trusted ? 1 : 0},
      ${claim.claimedMicroUsd}, 'pending', ${null}, 0, ${claim.nowUnix}, ${claim.nowUnix},
      ${null}, 0)
    on conflict (public_id, tx_hash) do nothing returning ${COLUMNS}`)
  return row && toClaim(row)
}

export async function findClaim(
  reads: Reads,
  input: { readonly publicId: string; readonly txHash: Hash },
): Promise<Claim | undefined> {
  const [row] = await reads.run(sql`
    select ${COLUMNS} from claims
    where public_id = ${input.publicId} and tx_hash = ${input.txHash}`)
  return row && toClaim(row)
}

export async function findClaimById(reads: Reads, id: string): Promise<Claim | undefined> {
  const [row] = await reads.run(sql`select ${COLUMNS} from claims where id = ${id}`)
  return row && toClaim(row)
}

/** Of the claims on a transaction: the newest verified one, else the newest. */
export async function findClaimByTx(reads: Reads, txHash: Hash): Promise<Claim | undefined> {
  const [row] = await reads.run(sql`
    select ${COLUMNS} from claims where tx_hash = ${txHash}
    order by case when status = 'verified' then 0 else 1 end, created_unix desc, id desc limit 1`)
  return row && toClaim(row)
}

export async function countOpenClaims(
  connection: Connection,
  input: { readonly publicId: string; readonly trusted: boolean },
): Promise<number> {
  const [row] = await connection.run(sql`
    select count(id) as open from claims
    where public_id = ${input.publicId} and trusted = ${input.trusted ? 1 : 0}
      and status in ('pending', 'confirming')`)
  return row === undefined ? 0 : column.integer(row, 'open')
}

/** Says more about a claim that is not verified: a payer that qualifies, or that it is open again. */
export async function strengthenClaim(
  connection: Connection,
  claim: Pick<Claim, 'id' | 'payerAddress' | 'byOwner' | 'status' | 'openedUnix'>,
): Promise<Claim | undefined> {
  const [row] = await connection.run(sql`
    update claims set payer_address = ${claim.payerAddress}, by_owner = ${claim.byOwner ? 1 : 0},
      status = ${claim.status}, opened_unix = ${claim.openedUnix}, checked_ms = 0
    where id = ${claim.id} and status <> 'verified' returning ${COLUMNS}`)
  return row && toClaim(row)
}

/** True when this payer had no proof for the claim yet. */
export async function insertProof(
  connection: Connection,
  proof: {
    readonly claimId: string
    readonly payerAddress: Address
    readonly message: string
    readonly signature: string
  },
): Promise<boolean> {
  const stored = await connection.run(sql`
    insert into claim_proofs (claim_id, payer_address, message, signature)
    values (${proof.claimId}, ${proof.payerAddress}, ${proof.message}, ${proof.signature})
    on conflict (claim_id, payer_address) do nothing returning claim_id`)
  return stored.length === 1
}

/** Payers by claim who proved that they pay for it. */
export async function readProvenPayers(
  reads: Reads,
  claimIds: readonly string[],
): Promise<Map<string, Set<Address>>> {
  const proven = new Map<string, Set<Address>>()
  if (claimIds.length === 0) return proven
  const found = await reads.run(sql`
    select claim_id, payer_address from claim_proofs where claim_id in (${join(claimIds)})`)
  for (const row of found) {
    const id = column.text(row, 'claim_id')
    const payers = proven.get(id) ?? new Set()
    proven.set(id, payers.add(column.hex(row, 'payer_address')))
  }
  return proven
}

/** Watched claims on some transactions, oldest first: the first claim of an owner wins. */
export async function watchedClaimsOf(
  reads: Reads,
  input: { readonly txHashes: readonly Hash[]; readonly nowUnix: number },
): Promise<Claim[]> {
  if (input.txHashes.length === 0) return []
  const found = await reads.run(sql`
    select ${COLUMNS} from claims
    where tx_hash in (${join(input.txHashes)}) and ${WATCHED}
      and opened_unix > ${input.nowUnix - CLAIM_TTL_SECONDS}
    order by created_unix, id`)
  return found.map(toClaim)
}

/** The watched claims that were looked at longest ago; new ones come first. */
export async function nextWatchedClaims(
  reads: Reads,
  input: { readonly nowUnix: number; readonly limit: number },
): Promise<Claim[]> {
  const found = await reads.run(sql`
    select ${COLUMNS} from claims
    where ${WATCHED} and opened_unix > ${input.nowUnix - CLAIM_TTL_SECONDS}
    order by checked_ms, id limit ${input.limit}`)
  return found.map(toClaim)
}

export async function markChecked(
  connection: Connection,
  input: { readonly ids: readonly string[]; readonly nowMs: number },
): Promise<void> {
  await connection.run(sql`
    update claims set checked_ms = ${input.nowMs} where id in (${join(input.ids)})`)
}

/** Moves a claim that is not verified; true when it was another status or depth before. */
export async function setClaimStatus(
  connection: Connection,
  input: {
    readonly id: string
    readonly status: ClaimStatus
    readonly confirmations: number
  },
): Promise<boolean> {
  const moved = await connection.run(sql`
    update claims set status = ${input.status}, confirmations = ${input.confirmations}
    where id = ${input.id} and ${WATCHED}
      and (status <> ${input.status} or confirmations <> ${input.confirmations})
    returning id`)
  return moved.length === 1
}

export async function setClaimVerified(
  connection: Connection,
  input: {
    readonly id: string
    readonly creditedMicroUsd: bigint
    readonly payerAddress: Address
    readonly confirmations: number
    readonly nowUnix: number
  },
): Promise<void> {
  await connection.run(sql`
    update claims set status = 'verified', credited_micro_usd = ${input.creditedMicroUsd},
      payer_address = ${input.payerAddress}, confirmations = ${input.confirmations},
      verified_unix = ${input.nowUnix}
    where id = ${input.id}`)
}

/** A block left the chain; the claim is watched again for a day, should it be mined anew. */
export async function setClaimReversed(
  connection: Connection,
  input: { readonly id: string; readonly nowUnix: number },
): Promise<void> {
  await connection.run(sql`
    update claims set status = 'reversed', credited_micro_usd = ${null}, verified_unix = ${null},
      confirmations = 0, opened_unix = ${input.nowUnix}, checked_ms = 0
    where id = ${input.id}`)
}

/** Is there an open claim that was not seen for a day? */
export async function hasExpired(reads: Reads, nowUnix: number): Promise<boolean> {
  const found = await reads.run(sql`
    select id from claims
    where status in ('pending', 'confirming') and opened_unix <= ${nowUnix - CLAIM_TTL_SECONDS}
    limit 1`)
  return found.length > 0
}

/** Ends open claims that were not seen for a day; gives their ids. */
export async function expireClaims(connection: Connection, nowUnix: number): Promise<string[]> {
  const expired = await connection.run(sql`
    update claims set status = 'expired', confirmations = 0
    where status in ('pending', 'confirming') and opened_unix <= ${nowUnix - CLAIM_TTL_SECONDS}
    returning id`)
  return expired.map((row) => column.text(row, 'id'))
}

function toClaim(row: Row): Claim {
  const credited = column.integerOrNull(row, 'credited_micro_usd')
  return {
    id: column.text(row, 'id'),
    publicId: column.text(row, 'public_id'),
    txHash: column.hex(row, 'tx_hash'),
    owner: column.hex(row, 'owner'),
    payerAddress: column.hex(row, 'payer_address'),
    byOwner: column.flag(row, 'by_owner'),
    claimedMicroUsd: column.amount(row, 'claimed_micro_usd'),
    status: column.text(row, 'status') as ClaimStatus,
    creditedMicroUsd: credited === null ? null : BigInt(credited),
    confirmations: column.integer(row, 'confirmations'),
    createdUnix: column.integer(row, 'created_unix'),
    openedUnix: column.integer(row, 'opened_unix'),
    verifiedUnix: column.integerOrNull(row, 'verified_unix'),
  }
}
