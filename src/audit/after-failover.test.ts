import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { bodyOf, createHarness, type Harness } from '#access/access-harness.ts'
import type { Receipt } from '#access/receipts/receipt.ts'
import { accountsMigrations } from '#main/stores.ts'
import type { DepositIndex } from '#payments/deposit.ts'
import type { Engine } from '#store/engine.ts'
import { openPostgres } from '#store/postgres/open-postgres.ts'
import { sql } from '#store/sql.ts'
import { startPostgres, type TestPostgres } from '#test/postgres.ts'
import { ReceiptsError, readReceipts } from './after-failover.ts'
import { lostCalls } from './lost-calls.ts'
import { lostKeys } from './lost-keys.ts'
import { lostPayments } from './lost-payments.ts'

let server: TestPostgres
const ended: (() => unknown)[] = []
before(async () => {
  server = await startPostgres()
})
after(async () => {
  for (const end of ended) await end()
  await server.stop()
})

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-receipts-'))
  ended.unshift(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The accounts, empty unless a database is copied. */
async function openAccounts(copiedUrl?: string): Promise<{ engine: Engine; url: string }> {
  const url = await server.createDatabase(copiedUrl)
  const engine = openEngine(url)
  await engine.migrate(accountsMigrations)
  return { engine, url }
}

function openEngine(url: string): Engine {
  const engine = openPostgres({ url, schema: 'accounts' })
  ended.unshift(() => engine.close())
  return engine
}

/** What the audit names of a replica's receipts. */
async function losses(engine: Engine, { access }: Harness, folder: string) {
  await access.receipts?.written()
  const receipts = await readReceipts({ folders: [folder], note: () => undefined })
  return engine.snapshot(async (connection) => ({
    calls: await lostCalls(connection, receipts),
    keys: await lostKeys(connection, receipts),
  }))
}

const NOTHING = { calls: [], keys: [] }

test('keys, revocations, settings and moves that a promoted standby lacks are named, and nothing else', async () => {
  const first = await openAccounts()
  const early = createHarness(first.engine)
  const kept = await early.mint()
  await early.fund(kept.publicId, 1_000n)
  const leaked = await early.mint(kept.wallet)
  await first.engine.close()
  const standby = await openAccounts(first.url)
  const engine = openEngine(first.url)
  const folder = newFolder()
  const harness = createHarness(engine, { dataFolder: folder })
  harness.now.ms = early.now.ms

  const path = { publicId: kept.publicId }
  const owned = { headers: { authorization: `Bearer ${kept.secret}` } }
  const label = { path, body: { label: 'shop' }, ...owned }
  bodyOf(await harness.call('/api/keys/{publicId}/label', label))
  const limits = { path, body: { dailyPaidCalls: 7 }, ...owned }
  bodyOf(await harness.call('/api/keys/{publicId}/limits', { method: 'POST', ...limits }))
  const minted = await harness.mint()
  await harness.revoke(leaked)
  const other = await harness.mint(kept.wallet)
  const moved = await harness.sign(kept.wallet, 'move-balance', {
    key: kept.publicId,
    to: other.publicId,
  })
  const body = { ...moved, toPublicId: other.publicId }
  bodyOf(await harness.call('/api/keys/{publicId}/move-balance', { path, body }))
  const rotated = await harness.rotate(kept)

  assert.deepEqual(await losses(engine, harness, folder), NOTHING)
  const { keys, calls } = await losses(standby.engine, harness, folder)
  assert.deepEqual(calls, [])
  assert.deepEqual(
    keys.map((each) => each.replace(/ of 0x[0-9a-f]{40}, (made|revoked) \S+/, '')),
    [
      `key: ${minted.publicId} its secret opens nothing; the owner mints another`,
      `key: ${other.publicId} its secret opens nothing; the owner mints another`,
      `key: ${rotated.publicId} its secret opens nothing; the owner mints another`,
      `revocation: ${leaked.publicId} is active again; run "sexton keys revoke ${leaked.publicId}"`,
      `revocation: ${kept.publicId} is active again; run "sexton keys revoke ${kept.publicId}"`,
      `label of ${kept.publicId}: shop was set; its owner sets that again`,
      `limits of ${kept.publicId}: {"dailyPaidCalls":7} was set; its owner sets that again`,
      `move: the balance of ${kept.publicId} to ${other.publicId}; its owner moves it again`,
    ],
  )
})

test('calls of batches that the accounts lost are named by caller, also once the replica counts on', async () => {
  const { engine } = await openAccounts()
  const folder = newFolder()
  const reports: unknown[] = []
  const report = (error: unknown) => void reports.push(error)
  const harness = createHarness(engine, { dataFolder: folder, report })
  const key = await harness.mint()
  await harness.admit(undefined, 2)
  await harness.admit(key.secret, 3)
  assert.deepEqual(await losses(engine, harness, folder), NOTHING)
  // As a standby holds them that is four batches behind.
  await engine.write((tx) => tx.run(sql`update meters set batch = batch - 4`))
  const wallet = key.wallet.address.toLowerCase()
  const lost = [
    /^calls: 1 of 192\.0\.2\.1 on \d{4}-\d\d-\d\d$/,
    new RegExp(`^calls: 3 of wallet:${wallet} on `),
  ]
  const assertNamed = async () => {
    const { calls } = await losses(engine, harness, folder)
    assert.equal(calls.length, lost.length, calls.join('\n'))
    for (const [index, pattern] of lost.entries()) assert.match(calls[index] ?? '', pattern)
  }
  await assertNamed()
  assert.deepEqual(reports, [])
  await harness.admit(key.secret, 2)
  await assertNamed()
  assert.equal(reports.length, 1)
  assert.match(String(reports[0]), /lost up to 4 batches of calls .* --after-failover/)
})

test('payments that the accounts lost are named with what the chain has of them', async () => {
  const { engine } = await openAccounts()
  const [claim, paid] = [`0x${'a1'.repeat(32)}`, `0x${'b2'.repeat(32)}`]
  const deposits: DepositIndex = {
    canonical: async () => ({
      ...HEAD,
      deposits: [{ ...DEPOSIT, txHash: `0x${'a1'.repeat(32)}` }],
    }),
  }
  const receipts: Receipt[] = [
    { kind: 'claimed', publicId: 'aabbccdd', txHash: claim },
    { kind: 'paid', payer: `0x${'cc'.repeat(20)}`, txHash: paid },
  ]
  const named = await engine.snapshot((connection) =>
    lostPayments(
      connection,
      deposits,
      receipts.map((each) => ({ ...each, atUnix: 0 })),
    ),
  )
  assert.deepEqual(named, [
    `claim: transaction ${claim} for key aabbccdd; the chain has its 1.5 USD; it can be claimed again`,
    `x402 payment: transaction ${paid} of 0x${'cc'.repeat(20)}; the chain has no such transfer yet; its payer can claim it for a key`,
  ])
})

const HEAD = {
  head: { number: 9, hash: `0x${'11'.repeat(32)}`, timestamp: 9 },
  completeFromBlock: 0,
  isComplete: true,
} as const

const DEPOSIT = {
  chainId: 1,
  blockNumber: 5,
  blockHash: `0x${'11'.repeat(32)}`,
  timestampUnix: 5,
  logIndex: 0,
  positionInTx: 0,
  from: `0x${'cc'.repeat(20)}`,
  to: `0x${'dd'.repeat(20)}`,
  amount: 1_500_000n,
  proven: true,
} as const

test('a line torn by a kill is skipped, and a folder without receipts is refused by name', async () => {
  const { engine } = await openAccounts()
  const folder = newFolder()
  const harness = createHarness(engine, { dataFolder: folder })
  await harness.mint()
  await harness.access.receipts?.written()
  const [file = ''] = readdirSync(folder)
  appendFileSync(join(folder, file), '{"kind":"minted","publicId":"aabb')
  const read = await readReceipts({ folders: [folder], note: () => undefined })
  assert.deepEqual(
    read.map((each) => each.kind),
    ['minted'],
  )
  const empty = newFolder()
  await assert.rejects(readReceipts({ folders: [empty], note: () => undefined }), (error) => {
    assert.ok(error instanceof ReceiptsError)
    assert.match(error.message, /holds no receipts-\*\.log; name the data folders/)
    return true
  })
})
