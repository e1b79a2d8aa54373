import type { DatedReceipt } from '#access/receipts/receipt.ts'
import type { Hash } from '#domain/address.ts'
import { parseHash } from '#domain/address.ts'
import { formatDecimal } from '#lib/decimal.ts'
import type { DepositIndex } from '#payments/deposit.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { inNames, sql } from '#store/sql.ts'

type Paid = Extract<DatedReceipt, { kind: 'claimed' | 'paid' }>

/** Claims and x402 payments that are unknown, with what the chain has of them. */
export async function lostPayments(
  connection: Connection,
  deposits: DepositIndex,
  receipts: readonly DatedReceipt[],
): Promise<readonly string[]> {
  const answered = receipts.filter((each) => each.kind === 'claimed' || each.kind === 'paid')
  const known = await knownPayments(connection, answered)
  const lost = answered.filter((each) => !known.has(nameOf(each)))
  const txHashes = lost.flatMap(({ txHash }) => parseHash(txHash) ?? [])
  const onChain = await amountsOf(deposits, txHashes)
  return [...new Map(lost.map((each) => [nameOf(each), each])).values()].map((each) => {
    const amount = onChain.get(each.txHash)
    const chain =
      amount === undefined
        ? 'the chain has no such transfer yet'
        : `the chain has its ${formatDecimal(amount, 6)} USD`
    return each.kind === 'claimed'
      ? `claim: transaction ${each.txHash} for key ${each.publicId}; ${chain}; it can be claimed again`
      : `x402 payment: transaction ${each.txHash} of ${each.payer}; ${chain}; its payer can claim it for a key`
  })
}

function nameOf(paid: Paid): string {
  return paid.kind === 'claimed' ? `${paid.publicId} ${paid.txHash}` : paid.txHash
}

async function knownPayments(
  connection: Connection,
  answered: readonly Paid[],
): Promise<ReadonlySet<string>> {
  const hashes = inNames(answered.map((each) => each.txHash))
  const rows = await connection.run(sql`
    select public_id || ' ' || tx_hash as name from claims where tx_hash ${hashes}
    union select tx_hash from credits where tx_hash ${hashes}
    union select tx_hash from x402_intents where tx_hash ${hashes}
    union select tx_hash from x402_replaced where tx_hash ${hashes}`)
  return new Set(rows.map((row) => column.text(row, 'name')))
}

async function amountsOf(
  deposits: DepositIndex,
  txHashes: readonly Hash[],
): Promise<ReadonlyMap<string, bigint>> {
  const sums = new Map<string, bigint>()
  if (txHashes.length === 0) return sums
  const known = await deposits.canonical({ txHashes })
  for (const { txHash, amount } of known?.deposits ?? [])
    sums.set(txHash, (sums.get(txHash) ?? 0n) + amount)
  return sums
}
