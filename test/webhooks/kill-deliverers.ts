import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { accountsMigrations, openStore } from '#main/stores.ts'
import { assertSound } from '#test/callers/callers-harness.ts'
import type { Doom } from './kills/doomed-deliverer.ts'
import { assertQueued, countedCalls, createWebhookWorld, startFeedWorld } from './webhook-world.ts'

const { every } = new Command('node test/webhooks/kill-deliverers.ts')
  .description(
    'Kills a deliverer of webhooks with SIGKILL at one statement, commit or send after another, starts it again, and holds what receivers got and what was charged against the promises.',
  )
  .option('--every <steps>', 'only at every so many', Number, 1)
  .parse()
  .opts<{ every: number }>()

/** For each of two webhooks: more than the wallet can pay for. */
const EVENTS = 5
const CALLS_BEFORE = 6
const PAID = 4n

const folder = mkdtempSync(join(tmpdir(), 'sexton-kill-deliverers-'))
const feed = await startFeedWorld(folder)
const accounts = await openStore(folder, 'accounts', { kind: 'sqlite' })
await accounts.migrate(accountsMigrations)
const world = createWebhookWorld(feed, accounts)
const key = await world.callers.mint()
const receivers = [await world.receiver(), await world.receiver()]
for (const each of receivers) await world.webhook(key, each, { kind: 'burn' })
await world.callers.admit(key.secret, CALLS_BEFORE)
await world.callers.fund(key.publicId, PAID * 100n)
await accounts.close()
await feed.burn(EVENTS)

let kills = 0
for (let at = 1; ; at += every) {
  const wasKilled = await killAt(at)
  kills += Number(wasKilled)
  if (!wasKilled) break
}
process.stdout.write(`${kills} kills: at least once, in order, none lost, charged once\n`)
for (const each of receivers) await each.stop()
await feed.end()
rmSync(folder, { recursive: true, force: true })

/** Whether it came so far. */
async function killAt(at: number): Promise<boolean> {
  const place = mkdtempSync(join(tmpdir(), 'sexton-killed-'))
  cpSync(folder, place, { recursive: true })
  for (const { events } of receivers) events.length = 0
  const common = { accountsFolder: place, registerFolder: folder, accountsUrl: undefined }
  const nowMs = world.now.ms + 60_000
  const first = await run({ ...common, nowMs, at })
  assert.ok(first === 'SIGKILL' || first === 0, `ended with ${first}`)
  // The lease of the killed one is over, and owed events are looked at again.
  assert.equal(await run({ ...common, nowMs: nowMs + 61_000, at: 0 }), 0)
  const engine = await openStore(place, 'accounts', { kind: 'sqlite' })
  const distinct = receivers.map(({ events }) => [...new Set(events.map(({ id }) => id))])
  for (const ids of distinct) assert.deepEqual(ids, ids.toSorted(byPlace), `order after ${at}`)
  const paidFor = 10 - CALLS_BEFORE + Number(PAID)
  // The last call may be left for only one of two that came: the other comes again, and owes it.
  const count = distinct.flat().length
  assert.ok(count >= paidFor && count <= paidFor + 1, `delivered after ${at}: ${count}`)
  const { used, paid } = await countedCalls(engine, key)
  assert.deepEqual({ used, paid }, { used: 10, paid: Number(PAID) }, `charged after ${at}`)
  await assertQueued(engine)
  await assertSound(engine)
  await engine.close()
  rmSync(place, { recursive: true })
  return first === 'SIGKILL'
}

function byPlace(a: string, b: string): number {
  return Number(a.split('-').at(-2)) - Number(b.split('-').at(-2))
}

async function run(doom: Doom): Promise<number | string> {
  const program = join(import.meta.dirname, 'kills/doomed-deliverer.ts')
  const child = spawn(process.execPath, [program, JSON.stringify(doom)], { stdio: 'inherit' })
  const [code, signal] = await once(child, 'exit')
  return signal ?? code
}
