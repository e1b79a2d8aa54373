import { isDeepStrictEqual } from 'node:util'
import { compactVerify, createLocalJWKSet, type JSONWebKeySet } from 'jose'
import { Compile } from 'typebox/schema'
import { isObject } from '#lib/json.ts'
import { STATEMENT_TYP } from '#money/statements/sign-statement.ts'
import { toRows } from '#money/statements/statement-rows.ts'
import { Statement } from '#money/statements/statement-shape.ts'

/** A row of a statement as text, by column; what is not said is left out. */
export type TextRow = Readonly<Record<string, string>>

export interface SignedFile {
  readonly kid: string
  readonly statement: Statement
}

/** Reads an answer, or its JWS alone. Returns what is wrong where it is not a signed statement. */
export async function readStatementFile(text: string, jwks: unknown): Promise<SignedFile | string> {
  const file = parse(text)
  const jws = isObject(file) ? file.jws : text.trim()
  if (typeof jws !== 'string') return 'the file is not a statement: it has no jws'
  const signed = await verify(jws, jwks)
  if (typeof signed === 'string') return `the signature is wrong: ${signed}`
  const check = Compile(Statement)
  const statement = parse(signed.payload)
  if (!check.Check(statement)) {
    const [error] = check.Errors(statement)[1]
    return `the file is not a statement: ${error?.instancePath ?? ''} ${error?.message ?? ''}`
  }
  if (isObject(file) && !isDeepStrictEqual(file.statement, statement))
    return 'the statement that the file shows is not the one that is signed'
  return { kid: signed.kid, statement }
}

async function verify(jws: string, jwks: unknown) {
  try {
    const keys = createLocalJWKSet(jwks as JSONWebKeySet)
    const { payload, protectedHeader } = await compactVerify(jws, keys, { algorithms: ['EdDSA'] })
    const { typ, kid } = protectedHeader
    if (typ !== STATEMENT_TYP || kid === undefined)
      return `its header must have typ "${STATEMENT_TYP}" and a kid`
    return { kid, payload: Buffer.from(payload).toString() }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
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
