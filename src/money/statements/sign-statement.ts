import { CompactSign } from 'jose'
import type { SigningKeys } from '#lib/signing-keys.ts'
import type { SignedStatement, Statement } from './statement-shape.ts'

/** Keeps a signature of the service from counting as one of another kind. */
export const STATEMENT_TYP = 'statement'

export async function signStatement(
  { kid, signer }: SigningKeys,
  statement: Statement,
): Promise<SignedStatement> {
  const payload = Buffer.from(JSON.stringify(statement))
  const header = { alg: 'EdDSA', kid, typ: STATEMENT_TYP }
  return { statement, jws: await new CompactSign(payload).setProtectedHeader(header).sign(signer) }
}
