import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { mock } from 'node:test'
import { sql } from '#db/sql.ts'
import {
  audited,
  bodyOf,
  codeOf,
  HARNESS_MIGRATIONS,
  newWallet,
  type Shown,
} from '#test/callers/callers-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'

const withCallers = audited(eachEngine(startPostgres, HARNESS_MIGRATIONS))

withCallers('a mint gives a key that works, and its secret is stored nowhere', async (harness) => {
  const wallet = newWallet()
  const body = { ...(await harness.sign(wallet, 'mint')), label: 'Caf\u0065\u0301' }
  const outcome = await harness.call('/api/keys', { body })
  assert.equal(codeOf(outcome), 201)
  const { key, secret } = bodyOf<Shown>(outcome)
  assert.match(secret, new RegExp(`^svc_${key.publicId}_[0-9a-f]{32}$`))
  assert.deepEqual(key, {
    publicId: key.publicId,
    prefix: `svc_${key.publicId}`,
    label: 'Caf\u00e9',
    ownerAddress: wallet.address,
    tier: 'free',
    status: 'active',
    createdAt: '2026-11-21T12:00:00Z',
    dailyQuota: 10,
  })
  assert.ok(await harness.isUsable(secret))
  const stored = await harness.engine.read(sql`select public_id, secret_digest, wallet from keys`)
  assert.ok(!JSON.stringify(stored).includes(secret.slice(-32)))
})

withCallers(
  'C1: a message mints once, also when it is posted many times at once',
  async (harness) => {
    const body = await harness.sign(newWallet(), 'mint')
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, () => harness.call('/api/keys', { body })),
    )
    const codes = outcomes.map(codeOf).sort()
    assert.deepEqual(codes, [201, ...Array.from({ length: 5 }, () => 'signature_already_used')])
    const recased = { ...body, ownerAddress: body.ownerAddress.toLowerCase() }
    const bare = { ...body, signature: body.signature.slice(2).toUpperCase() }
    for (const replay of [recased, bare])
      assert.equal(
        codeOf(await harness.call('/api/keys', { body: replay })),
        'signature_already_used',
      )
  },
)

withCallers('C2: a message that has grown old mints nothing', async (harness) => {
  const body = await harness.sign(newWallet(), 'mint')
  harness.now.ms += 300_001
  assert.equal(codeOf(await harness.call('/api/keys', { body })), 'message_expired')
})

withCallers('C7: one wallet in two spellings is one owner', async (harness) => {
  const { wallet } = await harness.mint()
  const signed = await harness.sign(wallet, 'mint')
  const lower = { ...signed, ownerAddress: signed.ownerAddress.toLowerCase() }
  assert.equal(codeOf(await harness.call('/api/keys', { body: lower })), 201)
  const wallets = await harness.engine.read(sql`select wallet, active_keys from wallets`)
  assert.deepEqual(
    wallets.map((row) => ({ ...row })),
    [{ wallet: wallet.address.toLowerCase(), active_keys: 2 }],
  )
  const wrong = { ...signed, ownerAddress: `${wallet.address.slice(0, -40)}${'aB'.repeat(20)}` }
  assert.equal(codeOf(await harness.call('/api/keys', { body: wrong })), 'invalid_address')
})

withCallers(
  'C8: a signature for another action, or by another wallet, mints nothing',
  async (harness) => {
    const [owner, thief] = [newWallet(), newWallet()]
    const listing = await harness.sign(owner, 'list')
    assert.equal(codeOf(await harness.call('/api/keys', { body: listing })), 'message_wrong_action')
    const theirs = await harness.sign(owner, 'mint')
    const forged = { ...(await harness.sign(thief, 'mint')), ...{ message: theirs.message } }
    assert.equal(
      codeOf(await harness.call('/api/keys', { body: { ...forged, ownerAddress: owner.address } })),
      'invalid_signature',
    )
    assert.equal(
      codeOf(await harness.call('/api/keys', { body: forged })),
      'message_address_mismatch',
    )
  },
)

withCallers(
  'C9, C10, C11: a contract signature is refused, and code at a wallet changes nothing: no node is asked',
  async (harness) => {
    const body = await harness.sign(newWallet(), 'mint')
    const unfit = [`${body.signature}6492`, '0x', `0x${'00'.repeat(127)}`, `0x${'00'.repeat(128)}`]
    for (const signature of unfit)
      assert.equal(
        codeOf(await harness.call('/api/keys', { body: { ...body, signature } })),
        'invalid_signature_format',
      )
  },
)

withCallers('C12: a message that is no text is refused', async (harness) => {
  const body = await harness.sign(newWallet(), 'mint')
  for (const message of [{ raw: '0x1234' }, ['a'], 1, null])
    assert.equal(
      codeOf(await harness.call('/api/keys', { body: { ...body, message } })),
      'invalid_body',
    )
})

withCallers('C14: a key whose answer was lost is listed and can be revoked', async (harness) => {
  const { wallet, publicId } = await harness.mint()
  const signed = await harness.sign(wallet, 'list')
  const headers = {
    'x-wallet-address': signed.ownerAddress,
    'x-wallet-signature': signed.signature,
    'x-wallet-message': Buffer.from(signed.message).toString('base64url'),
  }
  const outcome = await harness.call('/api/keys', { headers })
  const { keys } = bodyOf<{ keys: Record<string, unknown>[] }>(outcome)
  assert.deepEqual(
    keys.map((key) => key.publicId),
    [publicId],
  )
  assert.ok(keys.every((key) => !('secret' in key)))
  assert.equal(codeOf(await harness.call('/api/keys', { headers })), 'signature_already_used')
  const body = await harness.sign(wallet, 'revoke', { key: publicId })
  const revoked = await harness.call('/api/keys/{publicId}/revoke', { path: { publicId }, body })
  assert.equal(bodyOf<Shown>(revoked).key.status, 'revoked')
})

withCallers('a wallet has at most ten active keys, whoever races', async (harness) => {
  const wallet = newWallet()
  const bodies = []
  for (let n = 0; n < 14; n += 1) {
    bodies.push(await harness.sign(wallet, 'mint'))
    harness.now.ms += 1_000
  }
  const outcomes = await Promise.all(bodies.map((body) => harness.call('/api/keys', { body })))
  assert.equal(outcomes.filter((each) => codeOf(each) === 201).length, 10)
  assert.equal(outcomes.filter((each) => codeOf(each) === 'key_limit_reached').length, 4)
  const secret = outcomes.map((each) => (each.kind === 'answer' ? bodyOf<Shown>(each) : undefined))
  const first = secret.find((each) => each !== undefined)
  assert.ok(first !== undefined)
  await harness.revoke({ publicId: String(first.key.publicId), secret: first.secret })
  const refused = outcomes.findIndex((each) => codeOf(each) === 'key_limit_reached')
  assert.equal(codeOf(await harness.call('/api/keys', { body: bodies[refused] })), 201)
})

withCallers(
  'F3: a publicId that is taken is drawn again, also when its key is revoked',
  async (harness) => {
    const drawn = ['00000001', '00000001', '00000001', '00000002']
    const { randomBytes } = crypto
    mock.method(crypto, 'randomBytes', (size: number) =>
      size === 4 ? Buffer.from(drawn.shift() ?? '', 'hex') : randomBytes(size),
    )
    syncBuiltinESMExports()
    const first = await harness.mint()
    assert.equal(first.publicId, '00000001')
    await harness.revoke(first)
    assert.equal((await harness.mint()).publicId, '00000002')
    mock.restoreAll()
    syncBuiltinESMExports()
  },
)

withCallers('F7: unknown members of a body change nothing', async (harness) => {
  const unknown = { tier: 'premium', dailyQuota: 9, publicId: '00000001', __proto__x: 1 }
  const body = { ...(await harness.sign(newWallet(), 'mint')), ...unknown }
  const { key } = bodyOf<Shown>(await harness.call('/api/keys', { body }))
  assert.deepEqual([key.tier, key.dailyQuota], ['free', 10])
  assert.notEqual(key.publicId, '00000001')
})

withCallers(
  'H6: a label with controls, turned text, too many or only invisible characters is refused',
  async (harness) => {
    const wallet = newWallet()
    const mint = async (label: string | null) => {
      const outcome = await harness.call('/api/keys', {
        body: { ...(await harness.sign(wallet, 'mint')), label },
      })
      harness.now.ms += 1_000
      return codeOf(outcome)
    }
    const aSecret = `svc_0a1b2c3d_${'0'.repeat(32)}`
    for (const label of [
      'a\nb',
      'a\u0000',
      'a\u202eb',
      '\u2066x',
      '\ud800',
      'x'.repeat(65),
      '\u200b\u2060',
      '\ufeff \u3164',
      aSecret,
    ])
      assert.equal(await mint(label), 'invalid_body', JSON.stringify(label))
    for (const label of ['', null, 'Büro ✝', '👩\u200d🚀', '💀'.repeat(64), "=cmd|' /C"])
      assert.equal(await mint(label), 201)
  },
)
