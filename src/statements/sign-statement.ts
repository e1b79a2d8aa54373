import { hash } from 'node:crypto'
import { canonicalJson } from '#lib/canonical-json.ts'
import { type SigningKeys, signJws } from '#lib/signing-keys.ts'
import { toCsv } from '#route/csv.ts'
import { StatementRow, toRows } from './statement-rows.ts'
import type { Statement } from './statement-shape.ts'

export const STATEMENT_TYP = 'statement'

export function signStatement(keys: SigningKeys, statement: Statement) {
  const digest = digestOf(canonicalJson(statement))
  return { statement, digest, signature: signJws(keys, { typ: STATEMENT_TYP, payload: digest }) }
}

/** The last line signs the bytes of all lines before it. */
export function signCsv(keys: SigningKeys, statement: Statement): string {
  const text = toCsv(StatementRow, toRows(statement))
  const signature = signJws(keys, { typ: STATEMENT_TYP, payload: digestOf(text) })
  const empty = ','.repeat(Object.keys(StatementRow.properties).length - 2)
  return `${text}signature,${signature}${empty}\r\n`
}

export function digestOf(text: string): string {
  return hash('sha256', text, 'hex')
}
