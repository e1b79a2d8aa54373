import type { Address } from '#domain/address.ts'
import { keyAccount } from '#ledger/account.ts'
import { chunks } from '#lib/chunks.ts'
import { unixNow } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import { CLAIM_TTL_SECONDS, type Claim } from './claim.ts'
import {
  endLookAgain,
  expireClaims,
  lockClaimById,
  markChecked,
  nextWatchedClaims,
  readProvenPayers,
  setClaimStatus,
  setClaimVerified,
  staleClaims,
  watchedClaimsOf,
} from './claim-store.ts'
import { type Credit, creditDeposit, liveCreditsOf, unsettledCredits } from './credit.ts'
import type { CanonicalDeposits, Deposit } from './deposit.ts'
import { judgeClaim, type Verdict } from './judge-claim.ts'
import { reverseLost, WATCH_BLOCKS } from './reverse-lost.ts'
import { attempt, type Pass, type VerifierDeps } from './verifier-deps.ts'

/** How many prepayments a pass credited, and how many credits it reversed. */
export interface Settled {
  readonly credited: number
  readonly reversed: number
}

const NOTHING: Settled = { credited: 0, reversed: 0 }

const CLAIMS_PER_PASS_MAX = 500

/**
 * A pass over the prepayments, for the leader's engine. The pass remembers which missing logs it has
 * looked for, so one process makes one.
 */
export function createVerifier(deps: VerifierDeps): () => Promise<Settled> {
  const lookedAtMs = new Map<string, number>()
  return () => verifyPass({ deps, nowUnix: unixNow(deps.clock), failures: [], lookedAtMs })
}

async function verifyPass(pass: Pass): Promise<Settled> {
  const { deps } = pass
  const index = await deps.deposits.canonical({ txHashes: [] })
  if (index === undefined) return NOTHING
  const unsettled = await unsettledCredits({ run: deps.engine.read }, deps.chainId)
  const sinceBlock = Math.max(0, index.head.number - WATCH_BLOCKS)
  const recent = await deps.deposits.canonical({ sinceBlock })
  if (recent === undefined) return NOTHING
  const young = unsettled.filter(({ blockNumber }) => blockNumber >= sinceBlock)
  const old = unsettled.filter(
    ({ blockNumber }) => blockNumber < sinceBlock && blockNumber >= index.completeFromBlock,
  )
  const reversed =
    (await reverseLost(pass, { credits: young, known: recent })) + (await reverseOld(pass, old))
  const credited = await judgeWatched(pass, recent)
  await expire(pass, recent.head.timestamp)
  if (pass.failures.length > 0)
    throw new AggregateError(pass.failures, 'some prepayments could not be settled')
  return { credited, reversed }
}

/** By transaction, because there may be many deposits since. */
async function reverseOld(pass: Pass, credits: readonly Credit[]): Promise<number> {
  if (credits.length === 0) return 0
  const txHashes = [...new Set(credits.map((credit) => credit.txHash))]
  const known = await pass.deps.deposits.canonical({ txHashes })
  return known === undefined ? 0 : reverseLost(pass, { credits, known })
}

/** Recent deposits, then the least recently checked claims. */
async function judgeWatched(pass: Pass, recent: CanonicalDeposits): Promise<number> {
  const { deps } = pass
  const reads = { run: deps.engine.read }
  let credited = 0
  const young = [...Map.groupBy(recent.deposits, (deposit) => deposit.txHash).keys()]
  for (const txHashes of chunks(young, CLAIMS_PER_PASS_MAX)) {
    const claims = await watchedClaimsOf(reads, txHashes)
    credited += await judgeAll(pass, claims, recent)
  }
  const next = await nextWatchedClaims(reads, CLAIMS_PER_PASS_MAX)
  if (next.length === 0) return credited
  const txHashes = [...new Set(next.map((claim) => claim.txHash))]
  const known = await deps.deposits.canonical({ txHashes })
  if (known !== undefined) {
    // Rival claims are judged together.
    const shown = new Set(known.deposits.map((deposit) => deposit.txHash))
    const rivals = await watchedClaimsOf(reads, [...shown])
    const unseen = next.filter((claim) => !shown.has(claim.txHash))
    credited += await judgeAll(pass, [...rivals, ...unseen], known)
  }
  if (next.length === CLAIMS_PER_PASS_MAX)
    await pass.deps.engine.write((connection) =>
      markChecked(connection, { ids: next.map((claim) => claim.id), nowMs: deps.clock() }),
    )
  return credited
}

async function judgeAll(
  pass: Pass,
  claims: readonly Claim[],
  known: CanonicalDeposits,
): Promise<number> {
  const depositsOf = Map.groupBy(known.deposits, (deposit) => deposit.txHash)
  const seen = claims.filter(
    (claim) => depositsOf.has(claim.txHash) || claim.status === 'confirming',
  )
  const proven = await readProvenPayers(
    { run: pass.deps.engine.read },
    seen.map((claim) => claim.id),
  )
  const cases = seen.map((claim) => ({
    claim,
    deposits: depositsOf.get(claim.txHash) ?? [],
    provenPayers: proven.get(claim.id) ?? new Set<Address>(),
    headNumber: known.head.number,
  }))
  let credited = 0
  for (const each of inOrder(cases))
    if ((await attempt(pass, () => judgeOne(pass, each))) === 'credited') credited += 1
  return credited
}

interface Case {
  readonly claim: Claim
  readonly deposits: readonly Deposit[]
  readonly provenPayers: ReadonlySet<Address>
  readonly headNumber: number
}

async function judgeOne(pass: Pass, { claim, ...found }: Case): Promise<Applied> {
  const evidence = { ...found, requiredConfirmations: pass.deps.confirmations }
  // Waiting for a block needs no transaction.
  if (isAsItStands(claim, judgeClaim(claim, { ...evidence, credits: [], isReserved: false })))
    return 'unchanged'
  const outcome = await pass.deps.engine.write(async (connection) => {
    // Payers may have been added before the lock.
    const locked = (await lockClaimById(connection, claim.id)) ?? claim
    const proven = await readProvenPayers(connection, [claim.id])
    const provenPayers = proven.get(claim.id) ?? new Set()
    const credits = await liveCreditsOf(connection, [claim.txHash])
    const isReserved = (await pass.deps.isReserved?.(connection, claim.txHash)) ?? false
    const verdict = judgeClaim(locked, { ...evidence, provenPayers, credits, isReserved })
    return applyVerdict(pass, connection, { claim: locked, verdict })
  })
  if (outcome !== 'unchanged') pass.deps.onChange(claim.id)
  return outcome
}

function isAsItStands(claim: Claim, verdict: Verdict): boolean {
  if (verdict.kind !== 'wait') return false
  if (claim.status === 'verified') return true
  return verdict.status === claim.status && verdict.confirmations === claim.confirmations
}

/** Credited before a reorg, then the owner's post, then a signed payer, then the oldest. */
function inOrder(cases: readonly Case[]): Case[] {
  return cases.toSorted(
    (a, b) =>
      rankOf(a) - rankOf(b) ||
      a.claim.createdUnix - b.claim.createdUnix ||
      (a.claim.id < b.claim.id ? -1 : 1),
  )
}

function rankOf({ claim, deposits, provenPayers }: Case): number {
  if (claim.wasCredited) return 0
  if (claim.trust === 'owner') return 1
  return deposits.some((deposit) => provenPayers.has(deposit.from)) ? 2 : 3
}

type Applied = 'unchanged' | 'moved' | 'credited'

async function applyVerdict(
  pass: Pass,
  connection: Connection,
  input: { readonly claim: Claim; readonly verdict: Verdict },
): Promise<Applied> {
  const { claim, verdict } = input
  const { confirmations } = verdict
  if (claim.status === 'verified' && verdict.kind !== 'credit') {
    if (verdict.kind === 'end') await endLookAgain(connection, claim.id)
    return 'unchanged'
  }
  if (verdict.kind !== 'credit') {
    // Stays reversed until its transaction is mined again.
    if (claim.status === 'reversed' && verdict.status === 'pending') return 'unchanged'
    const { status } = verdict
    const moved = await setClaimStatus(connection, { id: claim.id, status, confirmations })
    return moved ? 'moved' : 'unchanged'
  }
  // A rotated key is credited through its successor.
  const successor = await pass.deps.keys.lockSuccessor(connection, claim.publicId)
  for (const deposit of verdict.deposits)
    await creditDeposit(connection, {
      id: pass.deps.newId(),
      deposit,
      account: keyAccount(successor),
      owner: claim.owner,
      claimId: claim.id,
      keys: pass.deps.keys,
      nowUnix: pass.nowUnix,
    })
  return verify(pass, connection, claim, confirmations)
}

async function verify(
  pass: Pass,
  connection: Connection,
  claim: Claim,
  confirmations: number,
): Promise<Applied> {
  const live = await liveCreditsOf(connection, [claim.txHash])
  const own = live.filter((each) => each.claimId === claim.id)
  const payer = own[0]?.payerAddress
  if (payer === undefined) return 'unchanged'
  await setClaimVerified(connection, {
    id: claim.id,
    creditedMicroUsd: own.reduce((sum, credit) => sum + credit.microUsd, 0n),
    payerAddress: payer,
    confirmations,
    nowUnix: pass.nowUnix,
  })
  return 'credited'
}

/** Chain time, so that claims do not expire while the index is behind. */
async function expire(pass: Pass, headUnix: number): Promise<void> {
  const { deps } = pass
  const nowUnix = Math.min(pass.nowUnix, headUnix)
  const limit = CLAIMS_PER_PASS_MAX
  const stale = await staleClaims({ run: deps.engine.read }, { nowUnix, limit })
  if (stale.length === 0) return
  const known = await deps.deposits.canonical({ txHashes: stale.map((claim) => claim.txHash) })
  if (known === undefined || !known.isComplete) return
  const paid = new Set(known.deposits.map((deposit) => deposit.txHash))
  const ids = stale.filter((claim) => !paid.has(claim.txHash)).map((claim) => claim.id)
  const openedBeforeUnix = nowUnix - CLAIM_TTL_SECONDS
  const expired = await pass.deps.engine.write((connection) =>
    expireClaims(connection, { ids, openedBeforeUnix }),
  )
  for (const id of expired) deps.onChange(id)
}
