import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { countRotations, lockSuccessor } from '#access/keys/key-store.ts'
import { DAY_SECONDS } from '#lib/time.ts'
import { createRetention } from '#main/jobs/retention.ts'
import { accountsMigrations } from '#main/stores.ts'
import type { Engine } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { openSqlite } from '#store/sqlite/open-sqlite.ts'

/**
 * Measures how long pruning and key rotation block the thread that serves requests, with a million keys
 * and a million usage rows on SQLite.
 */
const STALL_MAX_MS = 20
const { values } = parseArgs({ options: { rows: { type: 'string', default: '1000000' } } })
const ROWS = Number(values.rows)
/** Of what is being measured. */
let longestMs = 0
let longestCpuMs = 0
let over = 0
const TODAY = 20_000 * DAY_SECONDS
const folder = mkdtempSync(join(tmpdir(), 'sexton-stall-'))
const file = join(folder, 'accounts.sqlite')
// Reopened after filling, so that the log is checkpointed as in a store that grew over time.
const filled = openSqlite({ file, durability: 'full' })
await filled.migrate(accountsMigrations)
await fill(filled)
await filled.close()
const engine = openSqlite({ file, durability: 'full' })
try {
  const prune = createRetention({
    engine,
    clock: () => TODAY * 1000,
    headUnix: async () => TODAY,
  })
  await report('deleting old usage', async () => {
    for (let before = -1, left = await countOld(); left !== before; left = await countOld()) {
      before = left
      await stallOf(prune)
    }
  })
  await report('finding the rotations of a key', async () => {
    for (let n = 0; n < 1_000; n += 1)
      await stallOf(() => engine.write((tx) => countRotations(tx, keyOf(n * 7))))
  })
  await report('finding the heir of a key', async () => {
    for (let n = 0; n < 1_000; n += 1)
      await stallOf(() => engine.write((tx) => lockSuccessor(tx, keyOf(n * 7))))
  })
} finally {
  await engine.close()
  rmSync(folder, { recursive: true })
}

async function report(what: string, work: () => Promise<void>): Promise<void> {
  longestMs = 0
  longestCpuMs = 0
  over = 0
  const startMs = performance.now()
  await work()
  const tookMs = Math.round(performance.now() - startMs)
  process.stdout.write(
    `${what}: ${tookMs} ms in all, longest stall ${longestMs.toFixed(1)} ms (${longestCpuMs.toFixed(1)} ms of its own processor time), ${over} over ${STALL_MAX_MS} ms\n`,
  )
  // Other processes may stall it too, so its own processor time is what counts.
  if (longestCpuMs > STALL_MAX_MS) process.exitCode = 1
}

/** Ticks every millisecond; any longer gap is a stall. */
async function stallOf(work: () => Promise<unknown>): Promise<void> {
  let isOver = false
  const done = work().finally(() => {
    isOver = true
  })
  while (!isOver) {
    const before = { ms: performance.now(), cpu: process.threadCpuUsage() }
    await sleep(1)
    const stallMs = performance.now() - before.ms - 1
    const { user, system } = process.threadCpuUsage(before.cpu)
    longestMs = Math.max(longestMs, stallMs)
    longestCpuMs = Math.max(longestCpuMs, (user + system) / 1_000)
    if (stallMs > STALL_MAX_MS) over += 1
  }
  await done
}

function keyOf(n: number): string {
  return n.toString(16).padStart(8, '0')
}

async function countOld(): Promise<number> {
  const [row] = await engine.read(sql`select count(*) as count from usage_days`)
  return Number(row?.count)
}

async function fill(store: Engine): Promise<void> {
  const numbers = Array.from({ length: ROWS }, (_, n) => n)
  await store.write(async (tx) => {
    await tx.insert(
      { table: 'wallets', columns: { wallet: 'text', active_keys: 'bigint' } },
      numbers.map((n) => [`0x${n.toString(16).padStart(40, '0')}`, 1]),
    )
    await tx.insert(
      {
        table: 'keys',
        columns: {
          public_id: 'text',
          secret_digest: 'text',
          wallet: 'text',
          created_unix: 'bigint',
          is_first: 'bigint',
        },
      },
      numbers.map((n) => [keyOf(n), `digest ${n}`, `0x${n.toString(16).padStart(40, '0')}`, 1, 1]),
    )
    // A third is old, a third belongs to wallets, which are kept longer, and a third is new.
    await tx.insert(
      {
        table: 'usage_days',
        columns: { bucket: 'text', day: 'bigint' },
        constants: { used: 5, paid: 0, granted: 0, quota: 5, quota_most: 5 },
      },
      numbers.map((n) => [
        n % 3 === 1 ? `wallet:0x${n}` : `198.51.${n}`,
        TODAY - (n % 3 === 2 ? 1 : 40 + (n % 20)) * DAY_SECONDS,
      ]),
    )
  })
}
