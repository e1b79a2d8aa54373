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
  const settings = newestSettings(receipts)
  const keys = await readKeys(
    connection,
    [...made, ...revoked, ...settings].map((each) => each.publicId),
  )
  const gone = made.filter(({ publicId }) => !keys.has(publicId))
  const active = revoked.filter(({ publicId }) => keys.get(publicId)?.isActive === true)
  return [
    ...gone.map(
      (each) =>
        `key: ${each.publicId} of ${each.owner}, made ${at(each)}: its secret opens nothing; the owner mints another`,
    ),
    ...active.map(
      (each) =>
        `revocation: ${each.publicId} of ${each.owner}, revoked ${at(each)}, is active again; run "sexton keys revoke ${each.publicId}"`,
    ),
    ...settings.flatMap(({ kind, publicId, value }) => {
      const key = keys.get(publicId)
      if (key === undefined || key[kind] === value) return []
      const [what, shown] = [kind === 'labeled' ? 'label' : 'limits', value ?? 'none']
      return `${what} of ${publicId}: ${shown} was set; its owner sets that again`
    }),
    ...(await lostMoves(connection, receipts)),
  ]
}

type Setting = Extract<DatedReceipt, { kind: 'labeled' | 'limited' }>

/** Later ones replace earlier ones, at whatever replica. */
function newestSettings(receipts: readonly DatedReceipt[]): readonly Setting[] {
  const newest = new Map<string, Setting>()
  for (const each of receipts.toSorted((a, b) => a.atUnix - b.atUnix))
    if (each.kind === 'labeled' || each.kind === 'limited')
      newest.set(`${each.kind} ${each.publicId}`, each)
  return [...newest.values()]
}

async function lostMoves(
  connection: Connection,
  receipts: readonly DatedReceipt[],
): Promise<readonly string[]> {
  const moves = receipts.filter((each) => each.kind === 'moved')
  const digests = inNames(moves.map((each) => each.message))
  const rows = await connection.run(sql`
    select digest from used_messages where digest ${digests}`)
  const used = new Set(rows.map((row) => column.text(row, 'digest')))
  return moves
    .filter(({ message }) => !used.has(message))
    .map(
      ({ publicId, successor }) =>
        `move: the balance of ${publicId} to ${successor}; its owner moves it again`,
    )
}

const at = ({ atUnix }: Shown) => new Date(atUnix * 1_000).toISOString()

interface Held {
  readonly isActive: boolean
  readonly labeled: string | null
  readonly limited: string | null
}

async function readKeys(
  connection: Connection,
  publicIds: readonly string[],
): Promise<ReadonlyMap<string, Held>> {
  const rows = await connection.run(sql`
    select public_id, revoked_unix, label, limits from keys where public_id ${inNames(publicIds)}`)
  return new Map(
    rows.map((row) => [
      column.text(row, 'public_id'),
      {
        isActive: column.integerOrNull(row, 'revoked_unix') === null,
        labeled: column.textOrNull(row, 'label'),
        limited: column.textOrNull(row, 'limits'),
      },
    ]),
  )
}
