import type { DatedReceipt } from '#access/receipts/receipt.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { inNames, sql } from '#store/sql.ts'

type Calls = Extract<DatedReceipt, { kind: 'calls' }>

interface Range {
  readonly after: number
  readonly through: number
}

/** By caller and day. */
export async function lostCalls(
  connection: Connection,
  receipts: readonly DatedReceipt[],
): Promise<readonly string[]> {
  const answered = receipts.filter((each) => each.kind === 'calls')
  const ranges = await lostRanges(connection, receipts)
  const words = new Set<string>()
  const lost: Calls[] = []
  for (const [meter, batches] of Map.groupBy(answered, (each) => each.meter)) {
    const [first = 0] = batches.map((each) => each.batch).sort((a, b) => a - b)
    for (const { after } of ranges.get(meter) ?? [])
      if (first > after + 1)
        words.add(
          `up to ${first - after - 1} batches of calls of the replica ${meter}: they are older than its receipts`,
        )
    lost.push(...batches.filter((each) => isLost(each, ranges.get(meter) ?? [])))
  }
  return [...words, ...sumsOf(lost)]
}

/** By replica: what it found missing itself, and what is newer than the accounts. */
async function lostRanges(
  connection: Connection,
  receipts: readonly DatedReceipt[],
): Promise<ReadonlyMap<string, readonly Range[]>> {
  const ranges = new Map<string, Range[]>()
  for (const each of receipts)
    if (each.kind === 'lost') ranges.set(each.meter, [...(ranges.get(each.meter) ?? []), each])
  const answered = new Map<string, number>()
  for (const each of receipts)
    if (each.kind === 'calls')
      answered.set(each.meter, Math.max(answered.get(each.meter) ?? 0, each.batch))
  const held = await heldBatches(connection, [...answered.keys()])
  for (const [meter, through] of answered) {
    const after = held.get(meter) ?? 0
    if (after < through) ranges.set(meter, [...(ranges.get(meter) ?? []), { after, through }])
  }
  return ranges
}

async function heldBatches(
  connection: Connection,
  meters: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await connection.run(sql`
    select meter, batch from meters where meter ${inNames(meters)}`)
  return new Map(rows.map((row) => [column.text(row, 'meter'), column.integer(row, 'batch')]))
}

function isLost({ batch }: Calls, ranges: readonly Range[]): boolean {
  return ranges.some(({ after, through }) => batch > after && batch <= through)
}

interface Sum {
  readonly bucket: string
  readonly day: number
  calls: number
  /** By account. */
  readonly paid: Map<string, number>
}

function sumsOf(lost: readonly Calls[]): readonly string[] {
  const sums = new Map<string, Sum>()
  for (const { day, calls } of lost)
    for (const { bucket, account, calls: count } of calls) {
      const name = `${bucket} ${day}`
      const sum = sums.get(name) ?? { bucket, day, calls: 0, paid: new Map() }
      sums.set(name, sum)
      sum.calls += count
      if (account !== null) sum.paid.set(account, (sum.paid.get(account) ?? 0) + count)
    }
  return [...sums.values()].map(({ bucket, day, calls, paid }) => {
    const date = new Date(day * 1_000).toISOString().slice(0, 10)
    const payers = [...paid].map(([account, count]) => `, ${count} of them paid by ${account}`)
    return `calls: ${calls} of ${bucket} on ${date}${payers.join('')}`
  })
}
