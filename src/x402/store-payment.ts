import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import type { Authorization } from './offers/authorization.ts'
import type { IntentStatus } from './settling/intent.ts'
import { ASSET } from './settling-world.ts'

/** Stores a payment for the bucket of an address as a test needs it, without a chain. */
export async function storePayment(
  engine: Engine,
  input: {
    readonly authorization: Authorization
    readonly bucket: string
    readonly status: IntentStatus
    readonly creditId?: string
  },
): Promise<void> {
  const { from, to, value, validAfter, validBefore, nonce } = input.authorization
  await engine.write((tx) =>
    tx.run(sql`
      insert into x402_intents (id, chain_id, asset, payer, nonce, pay_to, micro_usd, valid_after,
        valid_before, signature, payee_kind, payee, status, created_unix, from_block, credit_id)
      values ('intent', 8453, ${ASSET}, ${from}, ${nonce}, ${to}, ${value}, ${String(validAfter)},
        ${String(validBefore)}, '0x', 'bucket', ${input.bucket}, ${input.status}, 1, 0,
        ${input.creditId ?? null})`),
  )
}
