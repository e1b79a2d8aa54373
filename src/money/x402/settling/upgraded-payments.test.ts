import assert from 'node:assert/strict'
import { accountsMigrations } from '#main/stores.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import type { Authorization } from '../schemes/scheme.ts'
import { ASSET, CHAIN_ID, NOON_UNIX, SIGNATURE, word } from '../x402-harness.ts'
import { settlingHarness } from './settling-harness.ts'

/** The accounts as 0.2.0 had them. */
const OLDER = accountsMigrations.filter(({ name }) => name !== 'payments settled by a facilitator')

const onBoth = eachEngine(startPostgres, OLDER)

/** Stores a payment as 0.2.0 did, with its signed transaction once there was one. */
async function storeOlder(
  engine: Engine,
  authorization: Authorization,
  status: 'reserved' | 'submitted',
): Promise<void> {
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const n = Number(BigInt(nonce))
  const sent =
    status === 'reserved'
      ? { txHash: null, raw: null, settler: null, txNonce: null }
      : { txHash: word(n), raw: '0x02', settler: word(5), txNonce: n }
  await engine.write(async (tx) => {
    await tx.run(sql`
      insert into x402_intents (id, chain_id, asset, payer, nonce, pay_to, micro_usd, valid_after,
        valid_before, signature, payee_kind, payee, status, created_unix, from_block, tx_hash,
        own_hash, raw, settler, tx_nonce, nonce_open)
      values (${`payment-${n}`}, ${CHAIN_ID}, ${ASSET}, ${from}, ${nonce}, ${to}, ${value},
        ${String(validAfter)}, ${String(validBefore)}, ${SIGNATURE}, 'bucket', ${`192.0.2.${n}`},
        ${status}, ${NOON_UNIX}, 0, ${sent.txHash}, ${sent.txHash}, ${sent.raw}, ${sent.settler},
        ${sent.txNonce}, ${sent.raw === null ? 0 : 1})`)
    if (sent.raw === null) return
    await tx.run(
      sql`insert into x402_replaced (tx_hash, intent_id) values (${word(100 + n)}, ${`payment-${n}`})`,
    )
  })
}

onBoth(
  'payments that were open in 0.2.0 are credited as the chain shows them, sent again, or given up',
  async ({ engine }) => {
    const { chain, authorize, finish, states, credits, audit } = settlingHarness(engine)
    const [sealed, lost, reserved] = [authorize(1), authorize(2), authorize(3)]
    for (const { from } of [sealed, lost, reserved]) chain.fund(from, 1_000_000n)
    await storeOlder(engine, sealed, 'submitted')
    await storeOlder(engine, lost, 'submitted')
    await storeOlder(engine, reserved, 'reserved')
    await engine.write((tx) =>
      tx.run(sql`
        insert into x402_settlers (chain_id, settler, gas_day, gas_gwei)
        values (${CHAIN_ID}, ${word(5)}, 0, 1)`),
    )
    await engine.migrate(accountsMigrations)
    // By a transaction that 0.2.0 had replaced.
    chain.mine(1, [[{ kind: 'use', authorization: sealed }]])
    for (let n = 0; n < 20; n += 1) {
      chain.mine()
      await finish()
    }
    assert.deepEqual(await states(), ['credited', 'credited', 'abandoned'])
    assert.deepEqual(await credits(), ['bucket:192.0.2.1', 'bucket:192.0.2.2'])
    assert.equal(chain.sent.length, 1)
    assert.deepEqual(await audit(), [])
  },
)
