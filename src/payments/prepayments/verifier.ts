import { randomUUID } from 'node:crypto'
import { lockSuccessor } from '#accounts/keys/key-store.ts'
import { keyAccount } from '#accounts/ledger/ledger.ts'
import { chunks } from '#base/async.ts'
import { unixNow } from '#base/time.ts'
import { type Context, oncePerContext } from '#context.ts'
import { sql } from '#db/sql.ts'
import { LeadLostError } from '#index/leader.ts'
import { requirePayment } from '#payments/x402/offer.ts'
import { reopenPayment } from '#payments/x402/payment.ts'
import {
  type Claim,
  claims,
  IS_SIGNED,
  judgeClaim,
  lockClaim,
  readEvidence,
  TRUSTS,
} from './claim.ts'
import {
  type Credit,
  creditDeposit,
  logName,
  reverseCredit,
  settleCredits,
  unsettledCredits,
} from './credit.ts'
import { blockHashAt, type KnownDeposits, readDeposits, UNCREDITED } from './deposits.ts'

const FIRST_PLACE: Pick<Claim, 'openedUnix' | 'id'> = { openedUnix: 0, id: '' }

/** More than an hour on Base, where blocks are final after 20 minutes. */
export const WATCH_BLOCKS = 2_000

const getMemory = oncePerContext(() => ({
  /** Where the last pass ended among all claims. */
  place: FIRST_PLACE,
  /** When each credit without a log was last checked, by its id. */
  lookedAtMs: new Map<string, number>(),
}))

/** Reverses credits whose block left the chain, and credits deposits that have none. Writes fail once another process leads. */
export async function verifyPayments(ctx: Context) {
  const failures: unknown[] = []
  const payment = requirePayment(ctx)
  const credits = await unsettledCredits({ run: ctx.accounts.read }, payment.chain.id)
  const txHashes = [...new Set(credits.map(({ txHash }) => txHash))]
  const known = await ctx.accounts.snapshot((reads) => readDeposits(reads, payment, txHashes))
  if (known === undefined) return { credited: 0, reversed: 0 }
  const reversed = await reverseLost(ctx, failures, credits, known)
  let credited = 0
  for (const claim of await creditableClaims(ctx, known.head.number - payment.confirmations))
    if ((await attempt(failures, () => creditClaim(ctx, claim))) === true) credited += 1
  if (failures.length > 0)
    throw new AggregateError(failures, 'some prepayments could not be settled')
  return { credited, reversed }
}

/** Records a failure and goes on, unless the lead was lost. */
async function attempt<T>(failures: unknown[], work: () => Promise<T>): Promise<T | undefined> {
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
  ctx: Context,
  failures: unknown[],
  credits: readonly Credit[],
  { head, deposits }: KnownDeposits,
): Promise<number> {
  const { startBlock } = requirePayment(ctx).chain
  const canonical = new Set(deposits.map(logName))
  const inReach = credits.filter(
    ({ blockNumber }) => blockNumber >= startBlock && blockNumber <= head.number,
  )
  const missing = inReach.filter((credit) => !canonical.has(logName(credit)))
  const { lost, standing } = await judgeMissing(ctx, missing)
  for (const credit of lost) await attempt(failures, () => reverse(ctx, credit))
  const settled = inReach.filter(
    (credit) =>
      credit.blockNumber < head.number - WATCH_BLOCKS &&
      (canonical.has(logName(credit)) || standing.has(credit)),
  )
  for (const part of chunks(settled, SETTLED_MAX)) {
    const ids = part.map(({ id }) => id)
    await ctx.accounts.write((tx) => settleCredits(tx, ids))
  }
  return lost.length
}

const BLOCKS_PER_PASS_MAX = 20

/** Delay before a credit without its log is checked again. */
const LOOK_AGAIN_MS = 60_000

/** Checks those first that have waited longest. Stops at the first unknown block, because unreachable nodes time out slowly. */
async function judgeMissing(ctx: Context, missing: readonly Credit[]) {
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
    if (!(await reverseCredit(tx, credit, nowUnix))) return
    const { id, claimId } = credit
    // The transaction may be mined again.
    if (claimId === null) await reopenPayment(tx, id)
    else await tx.run(sql`update claims set opened_unix = ${nowUnix} where id = ${claimId}`)
  })
}

/** Claims looked at per pass, in turns, because anyone may post them and old deposits may be found late. */
const CLAIMS_IN_TURN = 5_000

const CREDITABLE_MAX = 500

/**
 * Lists claims that a proven and deep deposit without a credit pays for, among those of recent deposits and the next
 * in turn, in the order in which they get it: credited before a reorg, posted with an owner's key, signed by the
 * sender, the oldest.
 */
async function creditableClaims(ctx: Context, deepNumber: number): Promise<readonly Claim[]> {
  const { id: chainId } = requirePayment(ctx).chain
  const memory = getMemory(ctx)
  const inTurn = sql`(opened_unix, id) > (${memory.place.openedUnix}, ${memory.place.id})`
  const [last] = await ctx.accounts.read(sql`
    select ${claims.columns} from claims where ${inTurn}
    order by opened_unix, id limit 1 offset ${CLAIMS_IN_TURN - 1}`)
  const place = last && claims.read(last)
  const upTo = place && sql`and (opened_unix, id) <= (${place.openedUnix}, ${place.id})`
  const ofClaim = sql`deposits.chain_id = ${chainId} and deposits.tx_hash = claims.tx_hash`
  const creditable = await ctx.accounts.read(sql`
    select ${claims.columns} from claims
    where id in (
        select id from claims where ${inTurn} ${upTo ?? sql``}
        union all select claims.id from deposits join claims on ${ofClaim}
          where deposits.chain_id = ${chainId} and block_number > ${deepNumber - WATCH_BLOCKS})
      -- Adding 0 keeps SQLite from reading every deposit up to that block.
      and exists (
        select 1 from deposits
        where ${ofClaim} and proven = 1 and block_number + 0 <= ${deepNumber}
          and (${IS_SIGNED} or (by_owner = 1 and sender = owner)) and ${UNCREDITED})
    order by was_credited desc,
      case when trust = ${TRUSTS.indexOf('owner')} then 0
        when exists (select 1 from deposits where ${ofClaim} and ${IS_SIGNED}) then 1 else 2 end,
      created_unix, id
    limit ${CREDITABLE_MAX}`)
  memory.place = place ?? FIRST_PLACE
  return creditable.map(claims.read)
}

/** Judges the claim again in its transaction, because another claim or payer may have been first. */
async function creditClaim(ctx: Context, claim: Claim): Promise<boolean> {
  const { txHash } = claim
  const known = await ctx.accounts.snapshot((reads) =>
    readDeposits(reads, requirePayment(ctx), [txHash]),
  )
  const [first] = known?.deposits ?? []
  if (known === undefined || first === undefined) return false
  if ((await blockHashAt(ctx, first.blockNumber)) !== first.blockHash) return false
  return ctx.accounts.write(async (tx) => {
    const locked = (await lockClaim(tx, claim.id)) ?? claim
    const evidence = { known, ...(await readEvidence(tx, locked)) }
    const { payable } = judgeClaim(ctx, locked, evidence)
    const { id: claimId, owner, publicId } = locked
    // The successor has the money if the key was rotated.
    const account = keyAccount(await lockSuccessor(tx, publicId))
    const nowUnix = unixNow(ctx.clock)
    let isCredited = false
    for (const deposit of payable) {
      const credit = { id: randomUUID(), deposit, account, owner, claimId, nowUnix }
      if (await creditDeposit(tx, credit)) isCredited = true
    }
    if (isCredited) await tx.run(sql`update claims set was_credited = 1 where id = ${claimId}`)
    return isCredited
  })
}
