import type { DatedReceipt } from '#access/receipts/receipt.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { inNames, sql } from '#store/sql.ts'

interface Shown {
  readonly publicId: string
  readonly owner: string
  readonly atUnix: number
}

/** Keys whose secret was shown and that are unknown, and revoked ones that are active again. */
export async function lostKeys(
  connection: Connection,
  receipts: readonly DatedReceipt[],
): Promise<readonly string[]> {
  const [made, revoked]: [Shown[], Shown[]] = [[], []]
  for (const each of receipts) {
    if (each.kind === 'minted') made.push(each)
    if (each.kind === 'revoked' || each.kind === 'rotated') revoked.push(each)
    if (each.kind === 'rotated' && each.successor !== undefined)
      made.push({ ...each, publicId: each.successor })
  }
  const isActive = await readKeys(
    connection,
    [...made, ...revoked].map((each) => each.publicId),
  )
  const gone = made.filter(({ publicId }) => !isActive.has(publicId))
  const active = revoked.filter(({ publicId }) => isActive.get(publicId) === true)
  return [
    ...gone.map(
      (each) =>
        `key: ${each.publicId} of ${each.owner}, made ${at(each)}: its secret opens nothing; the owner mints another`,
    ),
    ...active.map(
      (each) =>
        `revocation: ${each.publicId} of ${each.owner}, revoked ${at(each)}, is active again; run "sexton keys revoke ${each.publicId}"`,
    ),
  ]
}

const at = ({ atUnix }: Shown) => new Date(atUnix * 1_000).toISOString()

async function readKeys(
  connection: Connection,
  publicIds: readonly string[],
): Promise<ReadonlyMap<string, boolean>> {
  const rows = await connection.run(sql`
    select public_id, revoked_unix from keys where public_id ${inNames(publicIds)}`)
  return new Map(
    rows.map((row) => [
      column.text(row, 'public_id'),
      column.integerOrNull(row, 'revoked_unix') === null,
    ]),
  )
}
