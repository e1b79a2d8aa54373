import { randomUUID } from 'node:crypto'
import { lockSuccessor } from '#accounts/keys/key-store.ts'
import { keyAccount } from '#accounts/ledger/account.ts'
import type { Address } from '#base/address.ts'
import { chunks } from '#base/chunks.ts'
import type { CanonicalDeposits, Deposit } from '#base/deposit.ts'
import { unixNow } from '#base/time.ts'
import { type Context, oncePerContext } from '#context.ts'
import type { Connection } from '#db/engine.ts'
import { LeadLostError } from '#index/leader.ts'
import { requirePayment } from '#payments/x402/offer.ts'
import { reopenPayment } from '#payments/x402/payment.ts'
import {
  type Claim,
  type ClaimPlace,
  FIRST_PLACE,
  listClaims,
  lockClaimById,
  markCredited,
  readProvenPayers,
  reopenClaim,
  reversedClaims,
  uncreditedClaims,
} from './claim.ts'
import {
  type Credit,
  creditDeposit,
  listLiveCredits,
  logName,
  reverseCredit,
  settleCredits,
  unsettledCredits,
} from './credit.ts'
import { readDeposits, readScan } from './deposits.ts'
import { isCreditFor, judgeClaim } from './judge-claim.ts'
import { blockHashAt } from './scan-deposits.ts'

/** How many prepayments a pass credited, and how many credits it reversed. */
export interface Settled {
  readonly credited: number
  readonly reversed: number
}

interface Pass {
  /** Writes to its accounts fail once another process leads. */
  readonly ctx: Context
  readonly failures: unknown[]
}

const CLAIMS_PER_PASS_MAX = 500

/** More than an hour on Base, where blocks are final after 20 minutes. */
export const WATCH_BLOCKS = 2_000

const getMemory = oncePerContext(() => ({
  /** Position in the old claims. They are checked in turns, because a deposit may be found late. */
  place: FIRST_PLACE as ClaimPlace,
  /** When each credit without a log was last checked, by its id. */
  lookedAtMs: new Map<string, number>(),
}))

/** Reverses credits whose block left the chain, and credits deposits that have none. */
export async function verifyPayments(ctx: Context): Promise<Settled> {
  const pass: Pass = { ctx, failures: [] }
  const claims = await nextClaims(ctx)
  const credits = await unsettledCredits({ run: ctx.accounts.read }, requirePayment(ctx).chain.id)
  const payment = requirePayment(ctx)
  const head = await readScan({ run: ctx.accounts.read }, payment)
  if (head === undefined) return { credited: 0, reversed: 0 }
  const sinceBlock = Math.max(0, head.number - WATCH_BLOCKS)
  const txHashes = [...new Set([...claims, ...credits].map(({ txHash }) => txHash))]
  const { recent, named } = await ctx.accounts.snapshot(async (reads) => ({
    recent: await readDeposits(reads, payment, { sinceBlock }),
    named: await readDeposits(reads, payment, { txHashes }),
  }))
  if (recent === undefined || named === undefined) return { credited: 0, reversed: 0 }
  const deposits = new Map(
    [...recent.deposits, ...named.deposits].map((each) => [logName(each), each]),
  )
  const known = { ...recent, deposits: [...deposits.values()] }
  const reversed = await reverseLost(pass, credits, known)
  const credited = await creditClaimed(pass, known)
  if (pass.failures.length > 0)
    throw new AggregateError(pass.failures, 'some prepayments could not be settled')
  return { credited, reversed }
}

/** Returns claims whose credit a reorg reversed, and, in turns, claims never credited. */
async function nextClaims(ctx: Context): Promise<readonly Claim[]> {
  const reads = { run: ctx.accounts.read }
  const limit = CLAIMS_PER_PASS_MAX
  const memory = getMemory(ctx)
  const others = await uncreditedClaims(reads, { after: memory.place, limit })
  memory.place = others.length < limit ? FIRST_PLACE : (others.at(-1) ?? FIRST_PLACE)
  return [...(await reversedClaims(reads, { limit })), ...others]
}

/** Records a failure and goes on, unless the lead was lost. */
async function attempt<T>({ failures }: Pass, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof LeadLostError) throw error
    failures.push(error)
    return undefined
  }
}

const SETTLED_MAX = 500

/** Reverses credits without their log if their block left the chain; marks deep ones as settled. */
async function reverseLost(
  pass: Pass,
  credits: readonly Credit[],
  { completeFromBlock, head, deposits }: CanonicalDeposits,
): Promise<number> {
  const canonical = new Set(deposits.map(logName))
  const inReach = credits.filter(
    ({ blockNumber }) => blockNumber >= completeFromBlock && blockNumber <= head.number,
  )
  const missing = inReach.filter((credit) => !canonical.has(logName(credit)))
  const { lost, standing } = await judgeMissing(pass.ctx, missing)
  for (const credit of lost) await attempt(pass, () => reverse(pass.ctx, credit))
  const settled = inReach.filter(
    (credit) =>
      credit.blockNumber < head.number - WATCH_BLOCKS &&
      (canonical.has(logName(credit)) || standing.has(credit)),
  )
  for (const part of chunks(settled, SETTLED_MAX)) {
    const ids = part.map(({ id }) => id)
    await pass.ctx.accounts.write((tx) => settleCredits(tx, ids))
  }
  return lost.length
}

const BLOCKS_PER_PASS_MAX = 20

/** Delay before a credit without its log is checked again. */
const LOOK_AGAIN_MS = 60_000

/** Checks those first that have waited longest. Stops at the first unknown block, because unreachable nodes time out slowly. */
async function judgeMissing(
  ctx: Context,
  missing: readonly Credit[],
): Promise<{ readonly lost: readonly Credit[]; readonly standing: ReadonlySet<Credit> }> {
  const { lookedAtMs } = getMemory(ctx)
  const nowMs = ctx.clock()
  const lookedAt = ({ id }: Credit) => lookedAtMs.get(id) ?? 0
  const due = missing
    .filter((credit) => Math.abs(nowMs - lookedAt(credit)) >= LOOK_AGAIN_MS)
    .toSorted((a, b) => lookedAt(a) - lookedAt(b) || b.blockNumber - a.blockNumber)
  const lost: Credit[] = []
  const standing = new Set<Credit>()
  const byBlock = [...Map.groupBy(due, ({ blockNumber }) => blockNumber)]
  for (const [blockNumber, credits] of byBlock.slice(0, BLOCKS_PER_PASS_MAX)) {
    const hash = await blockHashAt(ctx, blockNumber)
    for (const credit of credits) {
      if (hash !== undefined && credit.blockHash !== hash) lost.push(credit)
      else lookedAtMs.set(credit.id, nowMs)
      if (credit.blockHash === hash) standing.add(credit)
    }
    if (hash === undefined) break
  }
  return { lost, standing }
}

async function reverse(ctx: Context, credit: Credit): Promise<void> {
  const nowUnix = unixNow(ctx.clock)
  await ctx.accounts.write(async (tx) => {
    if (!(await reverseCredit(tx, { credit, nowUnix }))) return
    if (credit.claimId === null) await reopenPayment(tx, credit.id)
    else await reopenClaim(tx, { id: credit.claimId, nowUnix })
  })
}

/** Judges all claims of a transaction together. */
async function creditClaimed(pass: Pass, known: CanonicalDeposits): Promise<number> {
  const reads = { run: pass.ctx.accounts.read }
  const depositsOf = Map.groupBy(known.deposits, (deposit) => deposit.txHash)
  let credited = 0
  for (const txHashes of chunks([...depositsOf.keys()], CLAIMS_PER_PASS_MAX)) {
    const live = await listLiveCredits(reads, txHashes)
    const open = txHashes.filter((each) => isUncredited(depositsOf.get(each) ?? [], live))
    const claims = await listClaims(reads, open)
    const proven = await readProvenPayers(
      reads,
      claims.map(({ id }) => id),
    )
    const cases = claims.map((claim) => ({
      claim,
      deposits: depositsOf.get(claim.txHash) ?? [],
      provenPayers: proven.get(claim.id) ?? new Set<Address>(),
      headNumber: known.head.number,
    }))
    for (const each of cases.toSorted(inOrder))
      if ((await attempt(pass, () => judgeOne(pass.ctx, each))) === true) credited += 1
  }
  return credited
}

function isUncredited(deposits: readonly Deposit[], live: readonly Credit[]): boolean {
  return deposits.some(
    (deposit) =>
      !live.some((credit) => credit.txHash === deposit.txHash && isCreditFor(credit, deposit)),
  )
}

interface Case {
  readonly claim: Claim
  readonly deposits: readonly Deposit[]
  readonly provenPayers: ReadonlySet<Address>
  readonly headNumber: number
}

/** Orders by: credited before a reorg, then the owner's, a signed payer's, the oldest. */
function inOrder(a: Case, b: Case): number {
  return (
    rankCase(a) - rankCase(b) ||
    a.claim.createdUnix - b.claim.createdUnix ||
    (a.claim.id < b.claim.id ? -1 : 1)
  )
}

function rankCase({ claim, deposits, provenPayers }: Case): number {
  if (claim.wasCredited) return 0
  if (claim.trust === 'owner') return 1
  return deposits.some((deposit) => provenPayers.has(deposit.from)) ? 2 : 3
}

async function judgeOne(ctx: Context, { claim, ...found }: Case): Promise<boolean> {
  const evidence = { ...found, requiredConfirmations: requirePayment(ctx).confirmations }
  // A claim that still waits for blocks needs no transaction.
  if (judgeClaim(claim, { ...evidence, credits: [] }).kind !== 'credit') return false
  const [first] = found.deposits
  if (first === undefined || (await blockHashAt(ctx, first.blockNumber)) !== first.blockHash)
    return false
  return ctx.accounts.write(async (tx) => {
    // Reads the claim again, because payers may have been added before the lock.
    const locked = (await lockClaimById(tx, claim.id)) ?? claim
    const proven = await readProvenPayers(tx, [claim.id])
    const provenPayers = proven.get(claim.id) ?? new Set()
    const credits = await listLiveCredits(tx, [claim.txHash])
    const verdict = judgeClaim(locked, { ...evidence, provenPayers, credits })
    if (verdict.kind !== 'credit') return false
    return credit(tx, { claim: locked, deposits: verdict.deposits, nowUnix: unixNow(ctx.clock) })
  })
}

/** Credits the successor if the key was rotated. */
async function credit(
  tx: Connection,
  input: {
    readonly claim: Claim
    readonly deposits: readonly Deposit[]
    readonly nowUnix: number
  },
): Promise<boolean> {
  const { claim, deposits, nowUnix } = input
  const account = keyAccount(await lockSuccessor(tx, claim.publicId))
  const { owner, id: claimId } = claim
  let isCredited = false
  for (const deposit of deposits) {
    const credit = { id: randomUUID(), deposit, account, owner, claimId, nowUnix }
    if (await creditDeposit(tx, credit)) isCredited = true
  }
  if (isCredited) await markCredited(tx, claim.id)
  return isCredited
}
