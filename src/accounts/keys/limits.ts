import type { KeyLimits } from '#domain/key-limits.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

/** Parses the column: JSON, with money as text. */
export function parseLimits(text: string | null): KeyLimits | undefined {
  if (text === null) return undefined
  return JSON.parse(text, (name, value) => (/microUsd$/i.test(name) ? BigInt(value) : value))
}

export function limitsText(limits: KeyLimits = {}): string | null {
  if (Object.values(limits).every((each) => each === undefined)) return null
  return JSON.stringify(limits, (_, value) => (typeof value === 'bigint' ? String(value) : value))
}

/** Returns the digest of the key's secret. */
export async function setLimits(
  connection: Connection,
  { publicId, limits }: { readonly publicId: string; readonly limits: KeyLimits },
): Promise<string> {
  const [row] = await connection.run(sql`
    update keys set limits = ${limitsText(limits)} where public_id = ${publicId}
    returning secret_digest`)
  return row === undefined ? '' : column.text(row, 'secret_digest')
}
