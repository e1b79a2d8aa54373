import { lockSuccessor } from '#accounts/keys/key-store.ts'
import { keyAccount } from '#accounts/ledger/account.ts'
import type { Address, Hash } from '#domain/address.ts'
import type { CanonicalDeposits, Deposit } from '#domain/deposit.ts'
import { chunks } from '#lib/chunks.ts'
import { unixNow } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import type { Claim } from './claim.ts'
import {
  type ClaimPlace,
  claimsOf,
  FIRST_PLACE,
  lockClaimById,
  markCredited,
  newestClaims,
  readProvenPayers,
  reversedClaims,
  uncreditedClaims,
} from './claim-store.ts'
import { type Credit, creditDeposit, liveCreditsOf, unsettledCredits } from './credit.ts'
import { isOf, judgeClaim } from './judge-claim.ts'
import { reverseLost, WATCH_BLOCKS } from './reverse-lost.ts'
import { attempt, type VerifierDeps, type VerifierPass } from './verifier-deps.ts'

/** How many prepayments a pass credited, and how many credits it reversed. */
export interface Settled {
  readonly credited: number
  readonly reversed: number
}

const NOTHING: Settled = { credited: 0, reversed: 0 }

const CLAIMS_PER_PASS_MAX = 500

/**
 * Creates a pass over the prepayments, for the leader's engine. The pass remembers which missing logs it has
 * looked for, and which old claims, so one process makes one.
 */
export function createVerifier(deps: VerifierDeps): () => Promise<Settled> {
  const lookedAtMs = new Map<string, number>()
  let place = FIRST_PLACE
  return async () => {
    const pass = { deps, nowUnix: unixNow(deps.clock), failures: [], lookedAtMs }
    const turn = await chooseClaims(pass, place)
    place = turn.next
    return verifyPass(pass, turn.claims)
  }
}

/**
 * The newest claims, those that a reorg took the credit of, and in turns those that were never credited:
 * history may show a deposit late.
 */
async function chooseClaims({ deps, nowUnix }: VerifierPass, after: ClaimPlace) {
  const reads = { run: deps.engine.read }
  const limit = CLAIMS_PER_PASS_MAX
  const newest = await newestClaims(reads, { nowUnix, limit })
  const reversed = await reversedClaims(reads, { limit })
  const others = await uncreditedClaims(reads, { after, limit })
  const next = others.length < limit ? FIRST_PLACE : (others.at(-1) ?? FIRST_PLACE)
  return { claims: [...newest, ...reversed, ...others], next }
}

async function verifyPass(pass: VerifierPass, claims: readonly Claim[]): Promise<Settled> {
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
  let credited = await creditClaimed(pass, recent)
  const txHashes = [...new Set(claims.map((claim) => claim.txHash))]
  const claimed = txHashes.length === 0 ? undefined : await deps.deposits.canonical({ txHashes })
  if (claimed !== undefined) credited += await creditClaimed(pass, claimed)
  if (pass.failures.length > 0)
    throw new AggregateError(pass.failures, 'some prepayments could not be settled')
  return { credited, reversed }
}

/** Asks by transaction, because there may be many deposits since. */
async function reverseOld(pass: VerifierPass, credits: readonly Credit[]): Promise<number> {
  if (credits.length === 0) return 0
  const txHashes = [...new Set(credits.map((credit) => credit.txHash))]
  const known = await pass.deps.deposits.canonical({ txHashes })
  return known === undefined ? 0 : reverseLost(pass, { credits, known })
}

/** All claims of a transaction are judged together. */
async function creditClaimed(pass: VerifierPass, known: CanonicalDeposits): Promise<number> {
  const reads = { run: pass.deps.engine.read }
  const depositsOf = Map.groupBy(known.deposits, (deposit) => deposit.txHash)
  let credited = 0
  for (const txHashes of chunks([...depositsOf.keys()], CLAIMS_PER_PASS_MAX)) {
    const live = await liveCreditsOf(reads, txHashes)
    const open = txHashes.filter((each) => isUncredited(depositsOf.get(each) ?? [], live))
    credited += await judgeAll(pass, await claimsOf(reads, open), {
      ...{ depositsOf, headNumber: known.head.number },
    })
  }
  return credited
}

function isUncredited(deposits: readonly Deposit[], live: readonly Credit[]): boolean {
  return deposits.some(
    (deposit) => !live.some((credit) => credit.txHash === deposit.txHash && isOf(credit, deposit)),
  )
}

async function judgeAll(
  pass: VerifierPass,
  claims: readonly Claim[],
  {
    depositsOf,
    headNumber,
  }: { readonly depositsOf: ReadonlyMap<Hash, readonly Deposit[]>; readonly headNumber: number },
): Promise<number> {
  const proven = await readProvenPayers(
    { run: pass.deps.engine.read },
    claims.map((claim) => claim.id),
  )
  const cases = claims.map((claim) => ({
    claim,
    deposits: depositsOf.get(claim.txHash) ?? [],
    provenPayers: proven.get(claim.id) ?? new Set<Address>(),
    headNumber,
  }))
  let credited = 0
  for (const each of inOrder(cases))
    if ((await attempt(pass, () => judgeOne(pass, each))) === true) credited += 1
  return credited
}

interface Case {
  readonly claim: Claim
  readonly deposits: readonly Deposit[]
  readonly provenPayers: ReadonlySet<Address>
  readonly headNumber: number
}

async function judgeOne(pass: VerifierPass, { claim, ...found }: Case): Promise<boolean> {
  const { deps } = pass
  const evidence = { ...found, requiredConfirmations: deps.confirmations }
  // Waiting for a block needs no transaction.
  if (judgeClaim(claim, { ...evidence, credits: [], isReserved: false }).kind !== 'credit')
    return false
  const isCredited = await deps.engine.write(async (connection) => {
    // Payers may have been added before the lock.
    const locked = (await lockClaimById(connection, claim.id)) ?? claim
    const proven = await readProvenPayers(connection, [claim.id])
    const provenPayers = proven.get(claim.id) ?? new Set()
    const credits = await liveCreditsOf(connection, [claim.txHash])
    const isReserved = (await deps.isReserved?.(connection, claim.txHash)) ?? false
    const verdict = judgeClaim(locked, { ...evidence, provenPayers, credits, isReserved })
    if (verdict.kind !== 'credit') return false
    return credit(pass, connection, { claim: locked, deposits: verdict.deposits })
  })
  if (isCredited) deps.onChange()
  return isCredited
}

/** Prefers the claim that was credited before a reorg, then the owner's, then a signed payer's, then the oldest. */
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

/** A rotated key is credited through its successor. */
async function credit(
  pass: VerifierPass,
  connection: Connection,
  { claim, deposits }: { readonly claim: Claim; readonly deposits: readonly Deposit[] },
): Promise<boolean> {
  const { newId } = pass.deps
  const successor = await lockSuccessor(connection, claim.publicId)
  let isCredited = false
  for (const deposit of deposits) {
    const outcome = await creditDeposit(connection, {
      id: newId(),
      deposit,
      account: keyAccount(successor),
      owner: claim.owner,
      claimId: claim.id,
      nowUnix: pass.nowUnix,
    })
    isCredited ||= outcome
  }
  if (isCredited) await markCredited(connection, claim.id)
  return isCredited
}
