import type { Reads } from '#money/payments/reads.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import type { SignIn } from './sign-in-message.ts'

/** Binds a message to its first address, so that a stolen one is useless elsewhere. */
export async function bindSignIn(
  connection: Connection,
  input: { readonly signIn: SignIn; readonly addressBucket: string },
): Promise<boolean> {
  const { signIn, addressBucket } = input
  const [row] = await connection.run(sql`
    insert into x402_sign_ins (wallet, nonce, bucket, until_ms)
    values (${signIn.wallet}, ${signIn.nonce}, ${addressBucket}, ${signIn.untilMs})
    on conflict (wallet, nonce) do update set bucket = x402_sign_ins.bucket
    returning bucket`)
  return row !== undefined && column.text(row, 'bucket') === addressBucket
}

export async function boundTo(
  reads: Reads,
  { wallet, nonce }: Pick<SignIn, 'wallet' | 'nonce'>,
): Promise<string | undefined> {
  const [row] = await reads.run(sql`
    select bucket from x402_sign_ins where wallet = ${wallet} and nonce = ${nonce}`)
  return row && column.text(row, 'bucket')
}
