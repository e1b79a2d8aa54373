import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MeteringUnavailable } from '#accounts/metering/meter/meter.ts'
import { parseAddress } from '#base/address.ts'
import type { PayerProof } from '#base/payer-proof.ts'
import { type Engine, StoreError } from '#db/engine.ts'
import { sql } from '#db/sql.ts'
import {
  audited,
  bearer,
  bodyOf,
  CHAIN_ID,
  codeOf,
  createHarness,
  HARNESS_MIGRATIONS,
  type Harness,
  newWallet,
} from '#test/callers/callers-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine, onSqlite } from '#test/store/each-engine.ts'
import { listPublicIds, listRotations, lockSuccessor, ROTATIONS_MAX } from './key-store.ts'
import { verifyPayerProof } from './message.ts'

const withCallers = audited(eachEngine(startPostgres, HARNESS_MIGRATIONS))

async function listed(harness: Harness, secret: string) {
  const body = bodyOf<{ keys: Record<string, unknown>[] }>(
    await harness.call('/api/keys', bearer(secret)),
  )
  return body.keys
}

withCallers(
  'F6: a revoked key is refused here at once and on a replica within a second',
  async (harness) => {
    const key = await harness.mint()
    const { secret } = key
    const replica = createHarness(harness.engine)
    replica.now.ms = harness.now.ms
    assert.ok(await harness.isUsable(secret))
    assert.ok(await replica.isUsable(secret))
    await harness.revoke(key)
    assert.equal(await harness.isUsable(secret), false)
    replica.now.ms += 1_000
    assert.equal(await replica.isUsable(secret), false)
  },
)

withCallers('E4: every bad Authorization header gets one and the same 401', async (harness) => {
  const { secret } = await harness.mint()
  const bad = [
    '',
    'Bearer',
    'Bearer ',
    `Basic ${secret}`,
    `Bearer  ${secret}`,
    `Bearer ${secret} `,
    `Bearer ${secret}, Bearer ${secret}`,
    secret,
    `Bearer ${secret.toUpperCase()}`,
    `Bearer ${secret.slice(0, -1)}`,
    `Bearer svc_00000000_${'0'.repeat(32)}`,
    `Bearer abc_${secret.slice(4)}`,
  ]
  const refusals = new Set<string>()
  for (const authorization of bad)
    refusals.add(JSON.stringify(await harness.metering.identify({ authorization }, '192.0.2.1')))
  assert.equal(refusals.size, 1)
  assert.match([...refusals].join(), /invalid_api_key/)
  assert.ok(await harness.metering.identify({ authorization: `bearer ${secret}` }, '192.0.2.1'))
})

withCallers('a rotation gives a new secret and takes the balance along', async (harness) => {
  const old = await harness.mint()
  const { wallet, publicId } = old
  await harness.fund(publicId, 5_000n)
  const next = await harness.rotate(old)
  assert.notEqual(next.publicId, publicId)
  assert.equal(await harness.isUsable(old.secret), false)
  assert.ok(await harness.isUsable(next.secret))
  const keys = await listed(harness, next.secret)
  assert.deepEqual(
    keys.map((each) => [each.publicId, each.status, each.prepaidBalanceUsd]).sort(),
    [
      [next.publicId, 'active', 0.005],
      [publicId, 'revoked', 0],
    ].sort(),
  )
  const body = await harness.sign(wallet, 'rotate', { key: publicId })
  const path = { publicId }
  const again = await harness.call('/api/keys/{publicId}/rotate', { path, body })
  assert.equal(codeOf(again), 'key_revoked')
})

/** Inserts a chain of rotated keys of the same wallet that ends in this key. */
async function addPredecessors(
  { engine }: Harness,
  { publicId, count }: { readonly publicId: string; readonly count: number },
): Promise<void> {
  await engine.write(async (tx) => {
    let successor = publicId
    for (let n = 0; n < count; n += 1) {
      const older = `e${n.toString(16).padStart(7, '0')}`
      await tx.run(sql`
        insert into keys (public_id, secret_digest, wallet, label, created_unix, revoked_unix,
          successor)
        select ${older}, ${n.toString(16).padStart(64, '0')}, wallet, label, created_unix, created_unix, ${successor}
        from keys where public_id = ${publicId}`)
      successor = older
    }
  })
}

withCallers(
  'the number of rotations is limited, and the last key stays usable',
  async (harness) => {
    const key = await harness.mint()
    await addPredecessors(harness, { publicId: key.publicId, count: ROTATIONS_MAX - 1 })
    const last = await harness.rotate(key)
    const counted = (id: string) => harness.engine.write((tx) => listRotations(tx, id))
    assert.equal((await counted(last.publicId)).length, ROTATIONS_MAX + 1)
    const body = await harness.sign(key.wallet, 'rotate', { key: last.publicId })
    const path = { publicId: last.publicId }
    const refused = await harness.call('/api/keys/{publicId}/rotate', { path, body })
    assert.equal(codeOf(refused), 'key_limit_reached')
    assert.ok(await harness.isUsable(last.secret))
  },
)

withCallers(
  'money under way to a key that is rotated finds the newest rotation',
  async (harness) => {
    const first = await harness.mint()
    const { wallet, publicId } = first
    const stranger = await harness.mint()
    const current = await harness.rotate(await harness.rotate(first))
    const { engine } = harness
    const successor = (of: string) => engine.write((tx) => lockSuccessor(tx, of))
    assert.equal(await successor(publicId), current.publicId)
    assert.equal(await successor(stranger.publicId), stranger.publicId)
    const owner = parseAddress(wallet.address)
    assert.ok(owner !== undefined)
    const known = await engine.snapshot((reads) => listPublicIds(reads, owner))
    assert.equal(known.length, 3)
    assert.ok(known.includes(publicId) && known.includes(current.publicId))
  },
)

withCallers(
  'the balance of a revoked key moves by the signature of its owner only',
  async (harness) => {
    const key = await harness.mint()
    const { wallet, publicId } = key
    const to = await harness.mint(wallet)
    const stranger = await harness.mint()
    await harness.fund(publicId, 700n)
    const path = { publicId }
    await harness.revoke(key)
    const move = async (toPublicId: string, signer = wallet, signedTo = toPublicId) => {
      const signed = await harness.sign(signer, 'move-balance', { key: publicId, to: signedTo })
      harness.now.ms += 1_000
      const body = { ...signed, toPublicId }
      return harness.call('/api/keys/{publicId}/move-balance', { path, body })
    }
    assert.equal(codeOf(await move(stranger.publicId)), 'not_key_owner')
    assert.equal(codeOf(await move(to.publicId, stranger.wallet)), 'not_key_owner')
    assert.equal(codeOf(await move(to.publicId, wallet, 'ffffffff')), 'message_wrong_action')
    assert.equal(codeOf(await move('ffffffff')), 'key_not_found')
    assert.deepEqual(bodyOf(await move(to.publicId)), {
      fromPublicId: publicId,
      toPublicId: to.publicId,
      movedUsd: 0.0007,
    })
    assert.deepEqual(bodyOf<{ movedUsd: number }>(await move(to.publicId)).movedUsd, 0)
  },
)

withCallers('a key manages itself and no other key of its wallet', async (harness) => {
  const one = await harness.mint()
  const two = await harness.mint(one.wallet)
  const other = await harness.mint()
  for (const { publicId } of [two, other]) {
    const call = { path: { publicId }, method: 'POST' as const, ...bearer(one.secret) }
    assert.equal(codeOf(await harness.call('/api/keys/{publicId}/revoke', call)), 'not_key_owner')
    assert.equal(codeOf(await harness.call('/api/keys/{publicId}/rotate', call)), 'not_key_owner')
  }
  const { publicId } = two
  const call = { path: { publicId }, method: 'POST' as const, ...bearer(one.secret) }
  const refused = await harness.call('/api/keys/{publicId}/revoke', call)
  assert.match(refused.kind === 'refusal' ? refused.message : '', /another key of your wallet/)
  const anonymous = { path: { publicId: one.publicId }, method: 'POST' as const }
  assert.equal(
    codeOf(await harness.call('/api/keys/{publicId}/revoke', anonymous)),
    'invalid_signature',
  )
  const body = await harness.sign(one.wallet, 'revoke', { key: one.publicId })
  const misdirected = { path: { publicId: two.publicId }, body }
  assert.equal(
    codeOf(await harness.call('/api/keys/{publicId}/revoke', misdirected)),
    'message_wrong_action',
  )
  assert.equal((await listed(harness, one.secret)).length, 2)
})

withCallers(
  'a leaked secret is killed by whoever reports it, and nobody learns if it was good',
  async (harness) => {
    const { secret } = await harness.mint()
    const answers = []
    for (const reported of [secret, secret, 'nonsense', `svc_00000000_${'0'.repeat(32)}`])
      answers.push(await harness.call('/api/keys/report-leak', { body: { secret: reported } }))
    assert.equal(new Set(answers.map((each) => JSON.stringify(each))).size, 1)
    assert.deepEqual([...new Set(answers.map(codeOf))], [202])
    assert.equal(await harness.isUsable(secret), false)
  },
)

withCallers('the text to sign is served ready, for every action', async (harness) => {
  const wallet = newWallet()
  const query = { address: wallet.address.toLowerCase() }
  const { message } = bodyOf<{ message: string }>(
    await harness.call('/api/keys/message', { query }),
  )
  const signature = await wallet.signMessage({ message })
  const body = { ownerAddress: wallet.address, signature, message }
  assert.equal(codeOf(await harness.call('/api/keys', { body })), 201)
  const revoke = { ...query, action: 'revoke' }
  assert.equal(
    codeOf(await harness.call('/api/keys/message', { query: revoke })),
    'invalid_parameter',
  )
  const full = { ...revoke, publicId: '0a1b2c3d' }
  assert.match(
    bodyOf<{ message: string }>(await harness.call('/api/keys/message', { query: full })).message,
    /^Sexton: revoke an API key\nAddress: 0x[0-9a-fA-F]{40}\nKey: 0a1b2c3d\nIssued: /,
  )
})

withCallers('usage shows the figures of the caller and the tier of the wallet', async (harness) => {
  const { secret, publicId } = await harness.mint()
  await harness.fund(publicId, 123_456n)
  const caller = await harness.metering.identify(bearer(secret).headers, '192.0.2.1')
  assert.ok(caller.kind === 'keyed')
  await harness.metering.meter.admit(caller)
  const shown = {
    identity: `key:svc_${publicId}`,
    tier: 'free',
    requestCount: 1,
    dailyQuota: 10,
    remaining: 9,
    overageCount: 0,
    prepaidBalanceUsd: 0.123456,
    resetUnix: Date.UTC(2026, 10, 22) / 1000,
  }
  assert.deepEqual(bodyOf(await harness.call('/api/usage', bearer(secret))), shown)
  const anonymous = bodyOf<Record<string, unknown>>(await harness.call('/api/usage'))
  assert.deepEqual([anonymous.identity, anonymous.tier], ['ip:192.0.2.1', 'anonymous'])
})

withCallers('a payer proof binds payer, chain, transaction and key', async (harness) => {
  const payer = newWallet()
  const transaction = `0x${'ab'.repeat(32)}` as const
  const signed = await harness.sign(payer, 'link-payer', { transaction, key: '0a1b2c3d' })
  const good = {
    payerAddress: `0x${payer.address.slice(2).toLowerCase()}` as const,
    chainId: CHAIN_ID,
    txHash: transaction,
    publicId: '0a1b2c3d',
    message: signed.message,
    signature: signed.signature,
    freshness: 'required' as const,
    byContract: false,
  }
  const { ctx } = harness.metering
  const verify = async (change: Partial<PayerProof>) =>
    (await verifyPayerProof(ctx, { ...good, ...change }))?.code
  assert.equal(await verify({}), undefined)
  assert.equal(await verify({ chainId: 1 }), 'message_wrong_action')
  assert.equal(await verify({ txHash: `0x${'cd'.repeat(32)}` }), 'message_wrong_action')
  assert.equal(await verify({ publicId: 'ffffffff' }), 'message_wrong_action')
  assert.equal(await verify({ payerAddress: `0x${'11'.repeat(20)}` }), 'message_address_mismatch')
  harness.now.ms += 600_000
  assert.equal(await verify({}), 'message_expired')
  assert.equal(await verify({ byContract: true, freshness: 'day' }), undefined)
  harness.now.ms += 86_400_000
  assert.equal(await verify({ byContract: true, freshness: 'day' }), 'message_expired')
  assert.equal(await verifyPayerProof(ctx, { ...good, freshness: 'ignored' }), undefined)
})

test('a key cannot be looked up while the store is down, and nobody becomes anonymous', async () => {
  await onSqlite(HARNESS_MIGRATIONS, async ({ engine }) => {
    const down: Engine = { ...engine, read: () => Promise.reject(new StoreError('gone')) }
    const { metering } = createHarness(down)
    const headers = bearer(`svc_00000000_${'0'.repeat(32)}`).headers
    await assert.rejects(metering.identify(headers, '192.0.2.1'), MeteringUnavailable)
  })
})

withCallers(
  'a key is renamed by its secret or its owner’s signature, and by no other',
  async (harness) => {
    const one = await harness.mint()
    const other = await harness.mint()
    const rename = (label: string | null, more: object) =>
      harness.call('/api/keys/{publicId}/label', {
        ...{ method: 'POST', path: { publicId: one.publicId }, ...more },
        body: { label, toPublicId: [1], ...('body' in more ? (more.body as object) : {}) },
      })
    const labelOf = async () => {
      const keys = await listed(harness, one.secret)
      return keys.find(({ publicId }) => publicId === one.publicId)?.label
    }
    assert.equal(
      bodyOf<{ key: { label: string } }>(await rename('mine', bearer(one.secret))).key.label,
      'mine',
    )
    const body = await harness.sign(one.wallet, 'label', { key: one.publicId })
    bodyOf(await rename('signed', { body }))
    assert.equal(await labelOf(), 'signed')
    assert.equal(codeOf(await rename('again', { body })), 'signature_already_used')
    assert.equal(codeOf(await rename('theirs', bearer(other.secret))), 'not_key_owner')
    const misdirected = await harness.sign(one.wallet, 'revoke', { key: one.publicId })
    assert.equal(codeOf(await rename('revoked', { body: misdirected })), 'message_wrong_action')
    assert.equal(codeOf(await rename(one.secret, bearer(one.secret))), 'invalid_body')
    assert.equal(await labelOf(), 'signed')
    bodyOf(await rename(null, bearer(one.secret)))
    assert.equal(await labelOf(), null)
  },
)
