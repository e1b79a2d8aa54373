import type { CanonicalDeposits } from '#domain/deposit.ts'
import { chunks } from '#lib/chunks.ts'
import { reopenClaim } from './claim-store.ts'
import { type Credit, reverseCredit, settleCredits } from './credit.ts'
import { logName } from './suspense.ts'
import { attempt, type VerifierPass } from './verifier-deps.ts'

/** Over an hour on Base, where blocks are final after 20 minutes. */
export const WATCH_BLOCKS = 2_000

const SETTLED_MAX = 500

/** Reverses credits that are missing from `known` if their block left the chain. */
export async function reverseLost(
  pass: VerifierPass,
  { credits, known }: { readonly credits: readonly Credit[]; readonly known: CanonicalDeposits },
): Promise<number> {
  const { completeFromBlock, head } = known
  const canonical = new Set(known.deposits.map(logName))
  const inReach = credits.filter(
    ({ blockNumber }) => blockNumber >= completeFromBlock && blockNumber <= head.number,
  )
  const missing = inReach.filter((credit) => !canonical.has(logName(credit)))
  const { lost, standing } = await judgeMissing(pass, missing)
  for (const credit of lost) await attempt(pass, () => reverse(pass, credit))
  const settled = inReach.filter(
    (credit) =>
      credit.blockNumber < head.number - WATCH_BLOCKS &&
      (canonical.has(logName(credit)) || standing.has(credit)),
  )
  for (const part of chunks(settled, SETTLED_MAX))
    await pass.deps.engine.write((connection) =>
      settleCredits(
        connection,
        part.map((credit) => credit.id),
      ),
    )
  return lost.length
}

const BLOCKS_PER_PASS_MAX = 20

/** Delay before a credit without its log is checked again: its block stands without it, or is unknown. */
const LOOK_AGAIN_MS = 60_000

/** Stops at the first unknown block: unreachable nodes time out slowly. */
async function judgeMissing(
  { deps, lookedAtMs }: VerifierPass,
  missing: readonly Credit[],
): Promise<{ readonly lost: readonly Credit[]; readonly standing: ReadonlySet<Credit> }> {
  const nowMs = deps.clock()
  const due = missing.filter(({ id }) => {
    const atMs = lookedAtMs.get(id)
    return atMs === undefined || Math.abs(nowMs - atMs) >= LOOK_AGAIN_MS
  })
  const lost: Credit[] = []
  const standing = new Set<Credit>()
  const byBlock = [...Map.groupBy(inOrder(due, lookedAtMs), ({ blockNumber }) => blockNumber)]
  for (const [blockNumber, credits] of byBlock.slice(0, BLOCKS_PER_PASS_MAX)) {
    const hash = await deps.blockHash(blockNumber)
    for (const credit of credits)
      if (hash === undefined || credit.blockHash === hash) lookedAtMs.set(credit.id, nowMs)
    if (hash === undefined) break
    for (const credit of credits)
      if (credit.blockHash === hash) standing.add(credit)
      else lost.push(credit)
  }
  return { lost, standing }
}

/** Puts unchecked credits first, then the newest, which are likely within the index's window. */
function inOrder(credits: readonly Credit[], lookedAtMs: VerifierPass['lookedAtMs']): Credit[] {
  const lookedAt = ({ id }: Credit) => lookedAtMs.get(id) ?? 0
  return credits.toSorted((a, b) => lookedAt(a) - lookedAt(b) || b.blockNumber - a.blockNumber)
}

async function reverse(pass: VerifierPass, credit: Credit): Promise<void> {
  const { nowUnix } = pass
  await pass.deps.engine.write(async (connection) => {
    if (!(await reverseCredit(connection, { credit, nowUnix }))) return
    if (credit.claimId !== null) await reopenClaim(connection, { id: credit.claimId, nowUnix })
  })
  pass.deps.onChange()
}
