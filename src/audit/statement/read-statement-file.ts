import { Compile } from 'typebox/schema'
import { canonicalJson } from '#lib/canonical-json.ts'
import { isObject } from '#lib/json.ts'
import { toRows } from '#statements/statement-rows.ts'
import { SignedStatement, type Statement } from '#statements/statement-shape.ts'

/** A row of a statement as text, by column; what is not said is left out. */
export type TextRow = Readonly<Record<string, string>>

export interface StatementFile {
  /** What the digest is of. */
  readonly signed: string
  /** As the file says. */
  readonly digest: string | undefined
  readonly signature: string
  readonly rows: readonly TextRow[]
}

/** Reads JSON or CSV. Returns what is wrong where it is neither. */
export function readStatementFile(text: string): StatementFile | string {
  return text.trimStart().startsWith('{') ? readJson(text) : readCsv(text)
}

function readJson(text: string): StatementFile | string {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return 'the file is not valid JSON'
  }
  if (countNames(text) !== countMembers(value))
    return 'the file is not a statement: a member of its JSON is there twice'
  const check = Compile(SignedStatement)
  if (!isObject(value) || !check.Check(value)) {
    const [error] = check.Errors(value)[1]
    return `the file is not a statement: ${error?.instancePath ?? ''} ${error?.message ?? ''}`
  }
  const { statement, digest, signature } = value
  return { signed: canonicalJson(statement), digest, signature, rows: toTextRows(statement) }
}

/** Of valid JSON. */
function countNames(text: string): number {
  return [...text.matchAll(/"(?:[^"\\]|\\.)*"\s*(:?)/g)].filter(([, colon]) => colon === ':').length
}

function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const own = Array.isArray(value) ? 0 : Object.keys(value).length
  return Object.values(value).reduce((sum, each) => sum + countMembers(each), own)
}

export function toTextRows(statement: Statement): readonly TextRow[] {
  return toRows(statement).map((row) =>
    Object.fromEntries(
      Object.entries(row).flatMap(([name, value]) =>
        value === undefined || value === '' ? [] : [[name, String(value)]],
      ),
    ),
  )
}

const SIGNATURE = '\r\nsignature,'

function readCsv(text: string): StatementFile | string {
  const end = text.lastIndexOf(SIGNATURE)
  const [, signature] = /^([^,\r\n]+),*\r\n$/.exec(text.slice(end + SIGNATURE.length)) ?? []
  if (end < 0 || signature === undefined)
    return 'the file is not a statement: its last line must be "signature," with the signature alone'
  const signed = text.slice(0, end + 2)
  const [names = [], ...lines] = parseCsv(signed)
  const rows = lines.map((line) =>
    Object.fromEntries(
      names.flatMap((name, index) => (line[index] ? [[name, line[index] ?? '']] : [])),
    ),
  )
  return { signed, digest: undefined, signature, rows }
}

/** RFC 4180. */
function parseCsv(text: string): readonly (readonly string[])[] {
  const lines: string[][] = [[]]
  for (const [, quoted, plain = '', end] of text.matchAll(FIELD)) {
    lines.at(-1)?.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    if (end === '\r\n') lines.push([])
  }
  return lines.filter((line) => line.length > 1)
}

const FIELD = /(?:"((?:[^"]|"")*)"|([^,\r\n]*))(,|\r\n|$)/g
