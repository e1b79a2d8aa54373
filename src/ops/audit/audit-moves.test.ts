import assert from 'node:assert/strict'
import { bucketAccount, type Entry, keyAccount, post } from '#accounts/ledger/ledger.ts'
import type { Engine } from '#db/engine.ts'
import { plain, sql } from '#db/sql.ts'
import { accountsMigrations } from '#main/stores.ts'
import { moveChecks } from '#ops/audit/audit-accounts.ts'
import { createMoneyWorld } from '#test/money/money-world.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)

/** Two wallets: the first has a rotated key with money and another key, the second one key. */
async function createWallets(engine: Engine) {
  const world = createMoneyWorld(engine)
  const old = await world.mint()
  const other = await world.mint(old.wallet)
  const stranger = await world.mint()
  await world.deposit({ payer: old.wallet, key: old, amount: 5_000n })
  await world.confirm()
  await world.call(old, 13)
  const key = await world.rotate(old)
  assert.ok(key !== undefined)
  await world.move(key, other)
  assert.deepEqual(await world.audit(), [])
  return { world, old, other, stranger }
}

async function move(engine: Engine, input: Pick<Entry, 'id' | 'reference'> & MoveInput) {
  const { from, to, microUsd, ...entry } = input
  const postings = [
    { account: from, microUsd: -microUsd },
    { account: to, microUsd },
  ]
  const isNew = await engine.write((tx) =>
    post(tx, { ...entry, kind: 'move', createdUnix: 1, postings }),
  )
  assert.ok(isNew)
}

interface MoveInput {
  readonly from: string
  readonly to: string
  readonly microUsd: bigint
}

onBoth('the audit names money that moved to another wallet or without a cause', async (store) => {
  const { engine } = store
  const { world, old, other, stranger } = await createWallets(engine)
  const rich = keyAccount(other.publicId)
  const payer = `0x${'aa'.repeat(20)}`
  const thefts: Record<string, MoveInput> = {
    'move:x': { from: rich, to: keyAccount(stranger.publicId), microUsd: 1n },
    'move:y': { from: 'chain_in:8453', to: rich, microUsd: 2n },
    'move:z': { from: rich, to: keyAccount(old.publicId), microUsd: 3n },
    [`move:rotate:${old.publicId}`]: { from: rich, to: keyAccount(old.publicId), microUsd: 4n },
    'move:b': { from: rich, to: bucketAccount('192.0.2.1'), microUsd: 6n },
  }
  await world.wait(40 * 3_600)
  for (const [id, input] of Object.entries(thefts))
    await move(engine, { id, reference: payer, ...input })
  const [check] = moveChecks
  assert.ok(check !== undefined)
  const found = await engine.snapshot(check.run)
  assert.deepEqual(found.map((each) => each.subject).sort(), Object.keys(thefts).sort())
})

onBoth('the audit names a move whose message was signed by nobody', async ({ engine }) => {
  const { world } = await createWallets(engine)
  await engine.write(async (tx) => {
    const trigger = 'used_messages_never_change'
    const on = engine.dialect === 'sqlite' ? '' : ' on used_messages'
    await tx.run(plain(`drop trigger ${trigger}${on}`))
    await tx.run(sql`update used_messages set action = 'list' where action = 'move-balance'`)
  })
  const found = await world.audit()
  assert.ok(found.some((each) => each.startsWith('money moves within one wallet only')))
})
