import assert from 'node:assert/strict'
import type { Address, Hash } from '#domain/address.ts'
import type { Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { join, type Sql, sql } from '#store/sql.ts'
import { CLAIM_TTL_SECONDS, type Claim, type ClaimStatus, TRUSTS, type Trust } from './claim.ts'
import type { Reads } from './reads.ts'

const COLUMNS = sql`id, public_id, tx_hash, owner, payer_address, by_owner, trust, share,
  evicted, claimed_micro_usd, status, credited_micro_usd, confirmations, created_unix, opened_unix,
  verified_unix, was_credited, look_again`

const WATCHED = sql`(status in ('pending', 'confirming', 'reversed') or look_again = 1)`

export interface NewClaim {
  readonly id: string
  readonly publicId: string
  readonly txHash: Hash
  readonly owner: Address
  readonly payerAddress: Address
  readonly byOwner: boolean
  readonly trust: Trust
  readonly claimedMicroUsd: bigint
  readonly nowUnix: number
}

/** Undefined if the key already claimed this transaction. */
export async function insertClaim(
  connection: Connection,
  claim: NewClaim,
): Promise<Claim | undefined> {
  const [row] = await connection.run(sql`
    insert into claims (id, public_id, tx_hash, owner, payer_address, by_owner, trust,
      share, claimed_micro_usd, status, credited_micro_usd, confirmations, created_unix, opened_unix,
      verified_unix, checked_ms)
    values (${claim.id}, ${claim.publicId}, ${claim.txHash}, ${claim.owner},
      ${claim.payerAddress}, ${claim.byOwner ? 1 : 0}, ${TRUSTS.indexOf(claim.trust)},
      ${TRUSTS.indexOf(claim.trust)}, ${claim.claimedMicroUsd}, 'pending', ${null}, 0, ${claim.nowUnix}, ${claim.nowUnix},
      ${null}, 0)
    on conflict (public_id, tx_hash) do nothing returning ${COLUMNS}`)
  return row && toClaim(row)
}

export async function lockClaim(
  connection: Connection,
  input: { readonly publicId: string; readonly txHash: Hash },
): Promise<Claim | undefined> {
  const [row] = await connection.run(sql`
    update claims set checked_ms = 0
    where public_id = ${input.publicId} and tx_hash = ${input.txHash} returning ${COLUMNS}`)
  return row && toClaim(row)
}

export async function lockClaimById(
  connection: Connection,
  id: string,
): Promise<Claim | undefined> {
  const [row] = await connection.run(sql`
    update claims set id = id where id = ${id} returning ${COLUMNS}`)
  return row && toClaim(row)
}

export async function findClaimById(reads: Reads, id: string): Promise<Claim | undefined> {
  const [row] = await reads.run(sql`select ${COLUMNS} from claims where id = ${id}`)
  return row && toClaim(row)
}

export async function findClaimByTx(
  reads: Reads,
  input: { readonly txHash: Hash; readonly senders: readonly Address[] },
): Promise<Claim | undefined> {
  const [row] = await reads.run(sql`
    select ${COLUMNS} from claims where tx_hash = ${input.txHash}
    order by case when status = 'verified' then 0 when was_credited = 1 then 1 else 2 end,
      case when ${isOfSender(input.senders)} then 0 else 1 end,
      case when trust = ${TRUSTS.indexOf('owner')} then 0 else 1 end,
      case when status in ('pending', 'confirming') then 0 else 1 end,
      created_unix, id
    limit 1`)
  return row && toClaim(row)
}

function isOfSender(senders: readonly Address[]): Sql {
  if (senders.length === 0) return sql`1 = 0`
  return sql`owner in (${join(senders)}) or exists (
    select 1 from claim_proofs
    where claim_id = claims.id and claim_proofs.payer_address in (${join(senders)}))`
}

export async function placedClaimsOf(
  reads: Reads,
  input: { readonly publicId: string; readonly share: Trust },
): Promise<{ readonly id: string; readonly txHash: Hash }[]> {
  const found = await reads.run(sql`
    select id, tx_hash from claims
    where public_id = ${input.publicId} and share = ${TRUSTS.indexOf(input.share)}
      and status = 'pending' and evicted = 0
    order by opened_unix, id`)
  return found.map((row) => ({ id: column.text(row, 'id'), txHash: column.hex(row, 'tx_hash') }))
}

export async function updateClaim(connection: Connection, claim: Claim): Promise<void> {
  await connection.run(sql`
    update claims set payer_address = ${claim.payerAddress}, by_owner = ${claim.byOwner ? 1 : 0},
      trust = ${TRUSTS.indexOf(claim.trust)}, share = ${TRUSTS.indexOf(claim.share)},
      evicted = ${claim.evicted ? 1 : 0},
      status = ${claim.status}, opened_unix = ${claim.openedUnix},
      look_again = ${claim.lookAgain ? 1 : 0}
    where id = ${claim.id}`)
}

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

/** May still be credited, at any age. */
export async function watchedClaimsOf(reads: Reads, txHashes: readonly Hash[]): Promise<Claim[]> {
  if (txHashes.length === 0) return []
  const found = await reads.run(sql`
    select ${COLUMNS} from claims where tx_hash in (${join(txHashes)}) and ${WATCHED}
    order by created_unix, id`)
  return found.map(toClaim)
}

export async function nextWatchedClaims(reads: Reads, limit: number): Promise<Claim[]> {
  const found = await reads.run(sql`
    select ${COLUMNS} from claims where ${WATCHED} order by checked_ms, id limit ${limit}`)
  return found.map(toClaim)
}

export async function readOpenClaims(reads: Reads): Promise<
  readonly {
    readonly status: string
    readonly count: number
    readonly oldestUnix: number
  }[]
> {
  const found = await reads.run(sql`
    select status, count(*) as claims, min(opened_unix) as oldest from claims
    where status in ('pending', 'confirming') group by status order by status`)
  return found.map((row) => ({
    status: column.text(row, 'status'),
    count: column.integer(row, 'claims'),
    oldestUnix: column.integer(row, 'oldest'),
  }))
}

export async function markChecked(
  connection: Connection,
  input: { readonly ids: readonly string[]; readonly nowMs: number },
): Promise<void> {
  await connection.run(sql`
    update claims set checked_ms = ${input.nowMs} where id in (${join(input.ids)})`)
}

/** Never a verified claim; returns whether anything changed. */
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
    where id = ${input.id} and status <> 'verified'
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
      verified_unix = coalesce(verified_unix, ${input.nowUnix}), was_credited = 1, look_again = 0
    where id = ${input.id}`)
}

/** Watched for another day, in case the transaction is mined again. */
export async function setClaimReversed(
  connection: Connection,
  input: { readonly id: string; readonly nowUnix: number },
): Promise<void> {
  await connection.run(sql`
    update claims set status = 'reversed', credited_micro_usd = ${null}, verified_unix = ${null},
      confirmations = 0, opened_unix = ${input.nowUnix}, checked_ms = 0, look_again = 0
    where id = ${input.id}`)
}

export async function endLookAgain(connection: Connection, id: string): Promise<void> {
  await connection.run(sql`update claims set look_again = 0 where id = ${id}`)
}

export async function staleClaims(
  reads: Reads,
  input: { readonly nowUnix: number; readonly limit: number },
): Promise<{ readonly id: string; readonly txHash: Hash }[]> {
  const found = await reads.run(sql`
    select id, tx_hash from claims
    where status in ('pending', 'confirming')
      and opened_unix <= ${input.nowUnix - CLAIM_TTL_SECONDS}
    order by opened_unix, id limit ${input.limit}`)
  return found.map((row) => ({ id: column.text(row, 'id'), txHash: column.hex(row, 'tx_hash') }))
}

/** Evicted claims stay open. */
export async function evictClaims(connection: Connection, ids: readonly string[]): Promise<void> {
  await connection.run(sql`
    update claims set evicted = 1 where id in (${join(ids)}) and status = 'pending'`)
}

export async function expireClaims(
  connection: Connection,
  input: { readonly ids: readonly string[]; readonly openedBeforeUnix: number },
): Promise<string[]> {
  if (input.ids.length === 0) return []
  const expired = await connection.run(sql`
    update claims set status = 'expired', confirmations = 0
    where id in (${join(input.ids)}) and status in ('pending', 'confirming')
      and opened_unix <= ${input.openedBeforeUnix}
    returning id`)
  return expired.map((row) => column.text(row, 'id'))
}

function toTrust(row: Row, name: string): Trust {
  const trust = TRUSTS[column.integer(row, name)]
  assert(trust !== undefined, `${name} is not a known trust`)
  return trust
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
    trust: toTrust(row, 'trust'),
    share: toTrust(row, 'share'),
    evicted: column.flag(row, 'evicted'),
    claimedMicroUsd: column.amount(row, 'claimed_micro_usd'),
    status: column.text(row, 'status') as ClaimStatus,
    creditedMicroUsd: credited === null ? null : BigInt(credited),
    confirmations: column.integer(row, 'confirmations'),
    createdUnix: column.integer(row, 'created_unix'),
    openedUnix: column.integer(row, 'opened_unix'),
    verifiedUnix: column.integerOrNull(row, 'verified_unix'),
    wasCredited: column.flag(row, 'was_credited'),
    lookAgain: column.flag(row, 'look_again'),
  }
}
