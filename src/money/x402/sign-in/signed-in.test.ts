import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSIWxPayload, encodeSIWxHeader } from '@x402/extensions/sign-in-with-x'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { accountsMigrations } from '#main/stores.ts'
import { sql } from '#store/sql.ts'
import { onSqlite } from '#test/store/each-engine.ts'
import { settlingHarness } from '../settling/settling-harness.ts'
import { signInOffer } from './sign-in-offer.ts'
import { createVisitors } from './signed-in.ts'

const SIGN_INS = 20

test('between two recoveries of sign-ins that arrive together, other callbacks run', async () => {
  await onSqlite(accountsMigrations, async ({ engine }) => {
    const { settling } = settlingHarness(engine)
    let turn = 0
    const recoveredIn: number[] = []
    const recoveries = {
      // Called right before each recovery.
      refusal: () => void recoveredIn.push(turn),
      failed: () => undefined,
    }
    const visit = createVisitors({ ...settling, recoveries })
    const { info } = signInOffer(settling, `${settling.publicBaseUrl}/api/stats`)['sign-in-with-x']
    const payload = await createSIWxPayload(
      { ...info, nonce: 'offered10000', chainId: 'eip155:8453', type: 'eip191' },
      privateKeyToAccount(generatePrivateKey()),
      new URL(info.uri).origin,
    )
    const wrong = Array.from({ length: SIGN_INS }, (_, n) =>
      encodeSIWxHeader({ ...payload, nonce: `wrong${10_000 + n}` }),
    )
    let isOver = false
    const countTurns = () => {
      turn += 1
      if (!isOver) setImmediate(countTurns)
    }
    countTurns()
    const visitors = await Promise.all(
      wrong.map((header) =>
        visit({ headers: { 'sign-in-with-x': header }, addressBucket: '192.0.2.1' }),
      ),
    )
    isOver = true
    assert.ok(visitors.every(({ kind }) => kind === 'refused'))
    assert.equal(recoveredIn.length, SIGN_INS)
    assert.equal(new Set(recoveredIn).size, SIGN_INS, `turns of the recoveries: ${recoveredIn}`)
  })
})

test('a sign-in from before a restore, or from the minute after it, is refused', async () => {
  await onSqlite(accountsMigrations, async ({ engine }) => {
    const { settling, time } = settlingHarness(engine)
    const restoredMs = settling.clock()
    await engine.write((tx) =>
      tx.run(sql`
        insert into restores (restored_unix)
        values (${restoredMs / 1000})`),
    )
    time.aheadSeconds = 120
    const visit = createVisitors(settling)
    const { info } = signInOffer(settling, `${settling.publicBaseUrl}/api/stats`)['sign-in-with-x']
    const visitWith = async (secondsLater: number) => {
      const issuedAt = new Date(restoredMs + secondsLater * 1000).toISOString()
      const payload = await createSIWxPayload(
        { ...info, issuedAt, nonce: 'offered10000', chainId: 'eip155:8453', type: 'eip191' },
        privateKeyToAccount(generatePrivateKey()),
        new URL(info.uri).origin,
      )
      const headers = { 'sign-in-with-x': encodeSIWxHeader(payload) }
      return visit({ headers, addressBucket: '192.0.2.1' })
    }
    const refused = { kind: 'refused', reason: 'invalid_siwx_issued_at_too_old' }
    for (const secondsLater of [-1, 60]) assert.deepEqual(await visitWith(secondsLater), refused)
    assert.equal((await visitWith(61)).kind, 'wallet')
  })
})
