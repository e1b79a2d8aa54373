import assert from 'node:assert/strict'
import type { PrivateKeyAccount } from 'viem/accounts'
import { keyAccount } from '#accounts/ledger/account.ts'
import { sql } from '#db/sql.ts'
import {
  audited,
  bodyOf,
  HARNESS_MIGRATIONS,
  type Harness,
  type Shown,
} from '#test/callers/callers-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'

const withCallers = audited(eachEngine(startPostgres, HARNESS_MIGRATIONS))

/** Ids of the wallet's active keys, asked with the wallet alone. */
async function listed(harness: Harness, wallet: PrivateKeyAccount): Promise<readonly string[]> {
  const signed = await harness.sign(wallet, 'list')
  const headers = {
    'x-wallet-address': signed.ownerAddress,
    'x-wallet-signature': signed.signature,
    'x-wallet-message': Buffer.from(signed.message).toString('base64url'),
  }
  harness.now.ms += 1_000
  const { keys } = bodyOf<{ readonly keys: readonly { publicId: string; status: string }[] }>(
    await harness.call('/api/keys', { headers }),
  )
  return keys.filter(({ status }) => status === 'active').map(({ publicId }) => publicId)
}

/** Rotates a key with the wallet alone. */
async function rotateSigned(harness: Harness, wallet: PrivateKeyAccount, publicId: string) {
  const body = await harness.sign(wallet, 'rotate', { key: publicId })
  harness.now.ms += 1_000
  const path = { publicId }
  const outcome = await harness.call('/api/keys/{publicId}/rotate', { path, body })
  const { key, secret } = bodyOf<Shown>(outcome)
  return { publicId: String(key.publicId), secret }
}

async function balances({ engine }: Harness): Promise<Record<string, unknown>> {
  const found = await engine.read(sql`
    select account, micro_usd from balances where account like 'key:%' and micro_usd <> 0`)
  return Object.fromEntries(found.map((row) => [String(row.account), row.micro_usd]))
}

withCallers(
  'a lost answer to a rotation leaves the balance with the newest key, and signing again brings it back',
  async (harness) => {
    const key = await harness.mint()
    await harness.fund(key.publicId, 1_000n)
    const lost = await harness.rotate(key)
    assert.equal(await harness.isUsable(key.secret), false)
    assert.deepEqual(await listed(harness, key.wallet), [lost.publicId])
    const found = await rotateSigned(harness, key.wallet, lost.publicId)
    assert.ok(await harness.isUsable(found.secret))
    assert.equal(await harness.isUsable(lost.secret), false)
    assert.deepEqual(await balances(harness), { [keyAccount(found.publicId)]: 1_000 })
  },
)
