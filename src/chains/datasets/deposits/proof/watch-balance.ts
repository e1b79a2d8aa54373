import type { Payment } from '#chains/ecosystem/ecosystem.ts'
import { readBackfill } from '#chains/indexer/backfill/backfill-row.ts'
import { readPosition } from '#chains/indexer/positions.ts'
import { formatDecimal } from '#lib/decimal.ts'
import type { Connection, Migration } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import { type Held, heldAt, heldBeforeHistory, sumReceived, sumSent } from './balance-of-pay-to.ts'
import { unprovenBlocks } from './deposit-proofs.ts'
import type { DepositProver, ProveDepositsDeps } from './prove-deposits.ts'

export const balanceChecksMigration: Migration = {
  id: 2310,
  name: 'explained balances of payTo',
  sql: `
    create table balance_checks (
      chain_id bigint primary key,
      pay_to text not null,
      block_number bigint not null,
      held text not null,
      missing text not null
    )`,
}

const EVERY_BLOCKS = 5

/** Deeper than most reorgs, and before payments are confirmed. */
const DEPTH_BLOCKS = 5

/** Minutes of a fast chain; proving more would fetch all of a history. */
const PROVEN_MAX = 64

interface WatchDeps extends Omit<ProveDepositsDeps, 'clock' | 'report'> {
  readonly prover: Pick<DepositProver, 'prove'>
}

/**
 * Compares what `payTo` holds with its transfers since the last comparison, at first since the start
 * of the history. If a node left out a deposit, proves new blocks; throws while one is missing.
 */
export async function watchBalance(deps: WatchDeps, signal: AbortSignal): Promise<void> {
  const { decimals, symbol } = deps.payment
  const missing = await compareBalance(deps, signal)
  if (missing > 0n)
    throw new Error(
      `a node left out deposits: payTo holds ${formatDecimal(missing, decimals)} ${symbol} more than its transfers explain`,
    )
}

/** Returns what is missing. */
async function compareBalance(deps: WatchDeps, signal: AbortSignal): Promise<bigint> {
  const { register, payment } = deps
  const chainId = payment.chain.id
  const { position, backfill, unproven, check } = await register.snapshot(async (reads) => ({
    position: await readPosition(reads, chainId),
    backfill: await readBackfill(reads, chainId),
    unproven: await unprovenBlocks(reads, { chainId, first: 'oldest', limit: 1 }),
    check: await readCheck(reads, payment),
  }))
  if (position === undefined || backfill !== undefined) return 0n
  const source = deps.sourceOf(chainId)
  const last = check ?? (await heldBeforeHistory(source, payment))
  const known = check?.missing ?? 0n
  // An unproven deposit may be made up, and hide another one that is missing.
  const to = Math.min(position.number - DEPTH_BLOCKS, (unproven[0]?.number ?? Infinity) - 1)
  if (to - (last?.block ?? 0) < EVERY_BLOCKS) return known
  const now = await heldAt(source, payment, to)
  const surplus = last === undefined ? 0n : await surplusSince(deps, { last, now, signal })
  const missing = surplus > 0n ? known + surplus : known
  const isOurs = await register.write(async (connection) => {
    if (!(await deps.isOurs(connection))) return false
    await storeCheck(connection, payment, { ...now, missing })
    return true
  })
  return isOurs ? missing : 0n
}

/** Throws RpcError if new blocks cannot be proven. */
async function surplusSince(
  { register, payment, sourceOf, prover }: WatchDeps,
  { last, now, signal }: { readonly last: Held; readonly now: Held; readonly signal: AbortSignal },
): Promise<bigint> {
  const { dialect } = register
  const source = sourceOf(payment.chain.id)
  const range = { from: last.block + 1, to: now.block }
  // Outgoing transfers may exactly offset a missing deposit.
  const sent = await sumSent(source, payment, { ...range, signal })
  const readSurplus = async () => {
    const received = await register.snapshot((connection) =>
      sumReceived({ connection, dialect }, payment.chain.id, range),
    )
    return now.amount - last.amount - received + sent
  }
  const surplus = await readSurplus()
  if (surplus <= 0n || range.to - range.from >= PROVEN_MAX) return surplus
  for (let number = range.from; number <= range.to; number += 1) {
    const header = await source.header(number)
    if (header !== undefined) await prover.prove(header)
  }
  return readSurplus()
}

interface BalanceCheck extends Held {
  /** What no deposit has explained since the history was read. */
  readonly missing: bigint
}

async function readCheck(
  connection: Connection,
  payment: Payment,
): Promise<BalanceCheck | undefined> {
  const [row] = await connection.run(sql`
    select block_number, held, missing from balance_checks
    where chain_id = ${payment.chain.id} and pay_to = ${nameOf(payment)}`)
  return (
    row && {
      block: column.integer(row, 'block_number'),
      amount: BigInt(column.text(row, 'held')),
      missing: BigInt(column.text(row, 'missing')),
    }
  )
}

async function storeCheck(
  connection: Connection,
  payment: Payment,
  { block, amount, missing }: BalanceCheck,
): Promise<void> {
  await connection.run(sql`
    insert into balance_checks (chain_id, pay_to, block_number, held, missing)
    values (${payment.chain.id}, ${nameOf(payment)}, ${block}, ${String(amount)}, ${String(missing)})
    on conflict (chain_id) do update set
      pay_to = excluded.pay_to, block_number = excluded.block_number, held = excluded.held,
      missing = excluded.missing`)
}

/** Names the asset and the addresses that a check covers. */
function nameOf({ asset, payTo }: Payment): string {
  return [asset, ...new Set(payTo.map(({ address }) => address))].join(' ')
}
