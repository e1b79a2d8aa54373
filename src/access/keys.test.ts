import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chainInAccount, keyAccount } from '#ledger/account.ts'
import { eachEngine, onSqlite } from '#ledger/each-engine.ts'
import { ledgerChecks } from '#ledger/ledger-checks.ts'
import { post } from '#ledger/post.ts'
import { type Engine, StoreError } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { accessChecks } from './access-checks.ts'
import {
  bearer,
  bodyOf,
  CHAIN_ID,
  codeOf,
  createHarness,
  HARNESS_MIGRATIONS,
  type Harness,
  newWallet,
} from './access-harness.ts'
import { MeteringUnavailable } from './admission.ts'

const onBoth = eachEngine(HARNESS_MIGRATIONS)
const withAccess = (guarantee: string, work: (harness: Harness) => Promise<void>) =>
  onBoth(guarantee, async ({ engine }) => {
    await work(createHarness(engine))
    for (const check of [...ledgerChecks, ...accessChecks])
      assert.deepEqual(await engine.snapshot(check.run), [], check.name)
  })

interface Shown {
  readonly key: Record<string, unknown>
  readonly secret: string
}

async function fund(engine: Engine, publicId: string, microUsd: bigint): Promise<void> {
  const postings = [
    { account: chainInAccount(CHAIN_ID), microUsd: -microUsd },
    { account: keyAccount(publicId), microUsd },
  ]
  const entry = { kind: 'credit' as const, reference: publicId, createdUnix: 1, postings }
  await engine.write((tx) => post(tx, { ...entry, id: `fund:${publicId}` }))
}

const usable = async ({ access }: Harness, secret: string) =>
  (await access.identify(bearer(secret).headers, '192.0.2.1')).kind === 'keyed'

async function listed(harness: Harness, secret: string) {
  const body = bodyOf<{ keys: Record<string, unknown>[] }>(
    await harness.call('/api/keys', bearer(secret)),
  )
  return body.keys
}

withAccess('a mint gives a key that works, and its secret is stored nowhere', async (harness) => {
  const wallet = newWallet()
  const body = { ...(await harness.sign(wallet, 'mint')), label: 'Caf\u0065\u0301' }
  const outcome = await harness.call('/api/keys', { body })
  assert.equal(codeOf(outcome), 201)
  assert.deepEqual(outcome.kind === 'answer' && outcome.headers, { 'Cache-Control': 'no-store' })
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
  assert.ok(await usable(harness, secret))
  const stored = await harness.engine.read(sql`select public_id, secret_digest, wallet from keys`)
  assert.ok(!JSON.stringify(stored).includes(secret.slice(-32)))
})

withAccess(
  'C1: a message mints once, also when it is posted many times at once',
  async (harness) => {
    const body = await harness.sign(newWallet(), 'mint')
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, () => harness.call('/api/keys', { body })),
    )
    const codes = outcomes.map(codeOf).sort()
    assert.deepEqual(codes, [201, ...Array.from({ length: 5 }, () => 'signature_already_used')])
    const recased = { ...body, ownerAddress: body.ownerAddress.toLowerCase() }
    const respelled = { ...body, signature: `0x${body.signature.slice(2).toUpperCase()}` }
    for (const replay of [recased, respelled])
      assert.equal(
        codeOf(await harness.call('/api/keys', { body: replay })),
        'signature_already_used',
      )
  },
)

withAccess('C2: a message that has grown old mints nothing', async (harness) => {
  const body = await harness.sign(newWallet(), 'mint')
  harness.now.ms += 300_001
  assert.equal(codeOf(await harness.call('/api/keys', { body })), 'message_expired')
})

withAccess('C7: one wallet in two spellings is one owner', async (harness) => {
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

withAccess(
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

withAccess(
  'C9, C10: a contract signature of any length is refused without asking a node',
  async (harness) => {
    const body = await harness.sign(newWallet(), 'mint')
    for (const signature of [`${body.signature}6492`, `0x${'00'.repeat(300)}`.slice(0, 250), '0x'])
      assert.equal(
        codeOf(await harness.call('/api/keys', { body: { ...body, signature } })),
        'invalid_signature_format',
      )
  },
)

withAccess('C12: a message that is no text is refused', async (harness) => {
  const body = await harness.sign(newWallet(), 'mint')
  for (const message of [{ raw: '0x1234' }, ['a'], 1, null])
    assert.equal(
      codeOf(await harness.call('/api/keys', { body: { ...body, message } })),
      'invalid_body',
    )
})

withAccess(
  'C13: only a proven signer learns how far below the gate the wallet is',
  async (harness) => {
    const tokens = [{ symbol: 'ASH', amount: '1', usd: 99.999999 }]
    harness.holdings = { kind: 'ready', heldUsd: 99_999_999n, tokens }
    const wallet = newWallet()
    const body = await harness.sign(wallet, 'mint')
    const unsigned = { ...body, signature: (await harness.sign(newWallet(), 'mint')).signature }
    assert.equal(codeOf(await harness.call('/api/keys', { body: unsigned })), 'invalid_signature')
    const outcome = await harness.call('/api/keys', { body })
    assert.equal(codeOf(outcome), 'holding_gate_not_met')
    assert.deepEqual(outcome.kind === 'refusal' && outcome.members, {
      requiredUsd: 100,
      heldUsd: 99.999999,
      tokens,
    })
    harness.holdings = { kind: 'unavailable', message: 'the price is stale' }
    assert.equal(codeOf(await harness.call('/api/keys', { body })), 'gate_unavailable')
    harness.holdings = { kind: 'ready', heldUsd: 100_000_000n, tokens }
    assert.equal(codeOf(await harness.call('/api/keys', { body })), 201)
  },
)

withAccess('C14: a key whose answer was lost is listed and can be revoked', async (harness) => {
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

withAccess('a wallet has at most ten active keys, whoever races', async (harness) => {
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
  const publicId = String(first?.key.publicId)
  await harness.call('/api/keys/{publicId}/revoke', {
    path: { publicId },
    method: 'POST',
    ...bearer(first?.secret ?? ''),
  })
  const refused = outcomes.findIndex((each) => codeOf(each) === 'key_limit_reached')
  assert.equal(codeOf(await harness.call('/api/keys', { body: bodies[refused] })), 201)
})

withAccess(
  'F3: a publicId that is taken is drawn again, also when its key is revoked',
  async (harness) => {
    harness.draws.push('00000001')
    const first = await harness.mint()
    assert.equal(first.publicId, '00000001')
    const path = { publicId: first.publicId }
    await harness.call('/api/keys/{publicId}/revoke', {
      path,
      method: 'POST',
      ...bearer(first.secret),
    })
    harness.draws.push('00000001', '00000001', '00000002')
    assert.equal((await harness.mint()).publicId, '00000002')
  },
)

withAccess(
  'F6: a revoked key is refused here at once and on a replica within a second',
  async (harness) => {
    const { secret, publicId } = await harness.mint()
    const replica = createHarness(harness.engine)
    replica.now.ms = harness.now.ms
    assert.ok(await usable(harness, secret))
    assert.ok(await usable(replica, secret))
    const path = { publicId }
    const call = { path, method: 'POST' as const, ...bearer(secret) }
    assert.equal(codeOf(await harness.call('/api/keys/{publicId}/revoke', call)), 200)
    assert.equal(await usable(harness, secret), false)
    replica.now.ms += 1_000
    assert.equal(await usable(replica, secret), false)
  },
)

withAccess('E4: every bad Authorization header gets one and the same 401', async (harness) => {
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
    [`Bearer ${secret}`, `Bearer ${secret}`],
  ]
  const refusals = new Set<string>()
  for (const authorization of bad)
    refusals.add(JSON.stringify(await harness.access.identify({ authorization }, '192.0.2.1')))
  assert.equal(refusals.size, 1)
  assert.match([...refusals].join(), /invalid_api_key/)
  assert.ok(await harness.access.identify({ authorization: `bearer ${secret}` }, '192.0.2.1'))
})

withAccess('F7: unknown members of a body are refused', async (harness) => {
  for (const extra of ['tier', 'dailyQuota', 'publicId', '__proto__x']) {
    const body = { ...(await harness.sign(newWallet(), 'mint')), [extra]: 'premium' }
    assert.equal(codeOf(await harness.call('/api/keys', { body })), 'invalid_body', extra)
  }
})

withAccess(
  'H6: a label with controls, turned text or too many characters is refused',
  async (harness) => {
    const wallet = newWallet()
    const mint = async (label: string) => {
      const outcome = await harness.call('/api/keys', {
        body: { ...(await harness.sign(wallet, 'mint')), label },
      })
      harness.now.ms += 1_000
      return codeOf(outcome)
    }
    for (const label of ['a\nb', 'a\u0000', 'a\u202eb', '\u2066x', '\ud800', 'x'.repeat(65)])
      assert.equal(await mint(label), 'invalid_body', JSON.stringify(label))
    for (const label of ['', 'Büro ✝', '💀'.repeat(64), "=cmd|' /C"])
      assert.equal(await mint(label), 201)
  },
)

withAccess('a rotation gives a new secret and takes the balance along', async (harness) => {
  const { wallet, publicId, secret } = await harness.mint()
  await fund(harness.engine, publicId, 5_000n)
  const path = { publicId }
  const call = { path, method: 'POST' as const, ...bearer(secret) }
  const { key, secret: next } = bodyOf<Shown>(
    await harness.call('/api/keys/{publicId}/rotate', call),
  )
  assert.notEqual(key.publicId, publicId)
  assert.equal(await usable(harness, secret), false)
  assert.ok(await usable(harness, next))
  const keys = await listed(harness, next)
  assert.deepEqual(
    keys.map((each) => [each.publicId, each.status, each.prepaidBalanceUsd]).sort(),
    [
      [key.publicId, 'active', 0.005],
      [publicId, 'revoked', 0],
    ].sort(),
  )
  const body = await harness.sign(wallet, 'rotate', { key: publicId })
  const again = await harness.call('/api/keys/{publicId}/rotate', { path, body })
  assert.equal(codeOf(again), 'key_revoked')
})

withAccess(
  'the balance of a revoked key moves by the signature of its owner only',
  async (harness) => {
    const { wallet, publicId, secret } = await harness.mint()
    const to = await harness.mint(wallet)
    const stranger = await harness.mint()
    await fund(harness.engine, publicId, 700n)
    const path = { publicId }
    await harness.call('/api/keys/{publicId}/revoke', { path, method: 'POST', ...bearer(secret) })
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

withAccess('a key manages itself and no other key of its wallet', async (harness) => {
  const one = await harness.mint()
  const two = await harness.mint(one.wallet)
  const other = await harness.mint()
  for (const { publicId } of [two, other]) {
    const call = { path: { publicId }, method: 'POST' as const, ...bearer(one.secret) }
    assert.equal(codeOf(await harness.call('/api/keys/{publicId}/revoke', call)), 'not_key_owner')
    assert.equal(codeOf(await harness.call('/api/keys/{publicId}/rotate', call)), 'not_key_owner')
  }
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

withAccess(
  'a leaked secret is killed by whoever reports it, and nobody learns if it was good',
  async (harness) => {
    const { secret } = await harness.mint()
    const answers = []
    for (const reported of [secret, secret, 'nonsense', `svc_00000000_${'0'.repeat(32)}`])
      answers.push(await harness.call('/api/keys/report-leak', { body: { secret: reported } }))
    assert.equal(new Set(answers.map((each) => JSON.stringify(each))).size, 1)
    assert.deepEqual([...new Set(answers.map(codeOf))], [202])
    assert.equal(await usable(harness, secret), false)
  },
)

withAccess('the text to sign is served ready, for every action', async (harness) => {
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
    /^Local Ecosystem Data: revoke an API key\nAddress: 0x[0-9a-fA-F]{40}\nKey: 0a1b2c3d\nIssued: /,
  )
})

withAccess('usage shows the figures of the caller and the tier of the wallet', async (harness) => {
  const { wallet, secret, publicId } = await harness.mint()
  await fund(harness.engine, publicId, 123_456n)
  const caller = await harness.access.identify(bearer(secret).headers, '192.0.2.1')
  assert.ok(caller.kind === 'keyed')
  await harness.access.meter.admit(caller)
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
  harness.premium.add(`0x${wallet.address.slice(2).toLowerCase()}`)
  harness.now.ms += 60_001
  assert.deepEqual(bodyOf(await harness.call('/api/usage', bearer(secret))), {
    ...shown,
    tier: 'premium',
    dailyQuota: 20,
    remaining: 19,
  })
  const anonymous = bodyOf<Record<string, unknown>>(await harness.call('/api/usage'))
  assert.deepEqual([anonymous.identity, anonymous.tier], ['ip:192.0.2.1', 'anonymous'])
})

withAccess('a payer proof binds payer, chain, transaction and key', async (harness) => {
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
  }
  const verify = async (change: Partial<typeof good>) =>
    (await harness.access.verifyPayerProof({ ...good, ...change }))?.code
  assert.equal(await verify({}), undefined)
  assert.equal(await verify({ chainId: 1 }), 'message_wrong_action')
  assert.equal(await verify({ txHash: `0x${'cd'.repeat(32)}` }), 'message_wrong_action')
  assert.equal(await verify({ publicId: 'ffffffff' }), 'message_wrong_action')
  assert.equal(await verify({ payerAddress: `0x${'11'.repeat(20)}` }), 'message_address_mismatch')
  harness.now.ms += 600_000
  assert.equal(await verify({}), 'message_expired')
  assert.equal(await harness.access.verifyPayerProof({ ...good, freshness: 'ignored' }), undefined)
})

test('a key cannot be looked up while the store is down, and nobody becomes anonymous', async () => {
  await onSqlite(HARNESS_MIGRATIONS, async ({ engine }) => {
    const down: Engine = { ...engine, read: () => Promise.reject(new StoreError('gone')) }
    const { access } = createHarness(down)
    const headers = bearer(`svc_00000000_${'0'.repeat(32)}`).headers
    await assert.rejects(access.identify(headers, '192.0.2.1'), MeteringUnavailable)
  })
})
