import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { accountsMigrations, openStore } from '#main/stores.ts'
import { WEBHOOKS_PER_WALLET_MAX } from '#serving/webhooks/webhook.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { createWebhookWorld, startFeedWorld } from './webhook-world.ts'

const { events } = new Command('node test/webhooks/failing-wallet.ts')
  .description(
    'Writes events while all webhooks of a wallet fail, and prints how much the accounts grow and how long calls of others wait.',
  )
  .option('--events <count>', 'how many events', Number, 10_000)
  .parse()
  .opts<{ events: number }>()

const PER_BLOCK = 100
const BLOCK_MS = 600_000

/** For each block, while the webhooks are looked at and fail. */
const CALLS = 20

const GROWTH_MAX = 1_000_000

const folder = mkdtempSync(join(tmpdir(), 'sexton-failing-wallet-'))
const feed = await startFeedWorld(folder)
const accounts = await openStore(folder, 'accounts', { kind: 'sqlite' })
await accounts.migrate(accountsMigrations)
const world = createWebhookWorld(feed, accounts)
const key = await world.callers.mint()
await world.callers.fund(key.publicId, 1_000_000n)
const receivers = []
for (let count = 0; count < WEBHOOKS_PER_WALLET_MAX; count += 1) {
  const receiver = await world.receiver()
  await world.webhook(key, receiver, { kind: 'burn' })
  receiver.behave = (response) => response.writeHead(500).end()
  receivers.push(receiver)
}
const other = await world.callers.mint()
await world.callers.fund(other.publicId, 10_000_000n)
await callOfAnother()
const before = await sizeOf(accounts)
const waitsMs: number[] = []
for (let written = 0; written < events; written += PER_BLOCK) {
  await feed.burn(PER_BLOCK)
  world.now.ms += BLOCK_MS
  const delivering = world.deliver()
  for (let call = 0; call < CALLS; call += 1) waitsMs.push(await callOfAnother())
  await delivering
}
const grown = (await sizeOf(accounts)) - before
const attempts = receivers.reduce((sum, { requests }) => sum + requests, 0)
const p99 = waitsMs.toSorted((a, b) => a - b)[Math.floor((waitsMs.length - 1) * 0.99)] ?? 0
process.stdout.write(
  `${receivers.length} failing webhooks, ${events} events, ${attempts} attempts: accounts grew by ${grown} bytes; p99 of ${waitsMs.length} calls of others ${p99.toFixed(1)} ms\n`,
)
assert.ok(grown < GROWTH_MAX)
await world.end()
await accounts.close()
await feed.end()

/** Milliseconds until it is admitted. */
async function callOfAnother(): Promise<number> {
  const startedMs = performance.now()
  await world.callers.admit(other.secret, 1)
  return performance.now() - startedMs
}

async function sizeOf(engine: Engine): Promise<number> {
  const [row] = await engine.read(sql`
    select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()`)
  return Number(row?.bytes)
}
