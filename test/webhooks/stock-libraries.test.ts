import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import { freePort } from '#base/free-port.ts'
import { accountsMigrations } from '#main/stores.ts'
import { bodyOf, type Minted } from '#test/callers/callers-harness.ts'
import { onSqlite } from '#test/store/each-engine.ts'
import type { Received, Receiver } from './receiver.ts'
import {
  createWebhookWorld,
  type FeedWorld,
  startFeedWorld,
  type WebhookWorld,
} from './webhook-world.ts'

let feed: FeedWorld
before(async () => {
  feed = await startFeedWorld()
})
after(() => feed.end())

interface Stock {
  readonly world: WebhookWorld
  readonly key: Minted
}

/** Libraries compare times with the real clock. */
function guarantee(name: string, work: (stock: Stock) => Promise<void>): void {
  test(name, () =>
    onSqlite(accountsMigrations, async ({ engine }) => {
      const world = createWebhookWorld(feed, engine)
      world.now.ms = Date.now()
      try {
        await work({ world, key: await world.callers.mint() })
        assert.deepEqual(world.reported, [])
      } finally {
        await world.end()
      }
    }),
  )
}

const LIBRARIES = [StandardWebhook, SvixWebhook]

/** Both libraries agree. */
function verifies(secret: string, { body, headers }: Received): boolean {
  const verdicts = LIBRARIES.map((Library) => {
    try {
      new Library(secret).verify(body, headers)
      return true
    } catch (error) {
      // No other reason, such as a time that is too old.
      assert.match(String(error), /No matching signature found/)
      return false
    }
  })
  assert.equal(verdicts[0], verdicts[1])
  return verdicts[0] === true
}

async function nextEvent(world: WebhookWorld, receiver: Receiver): Promise<Received> {
  receiver.events.length = 0
  receiver.secrets.length = 0
  await feed.burn()
  await world.deliver()
  const [event] = receiver.events
  assert.ok(event !== undefined)
  return event
}

guarantee('stock libraries verify a delivery, and none made for another webhook', async (stock) => {
  const { world, key } = stock
  const [receiver, other] = [await world.receiver(), await world.receiver()]
  await world.webhook(key, receiver, { kind: 'burn' })
  await world.webhook(key, other, { kind: 'burn' })
  const [[own = ''], [others = '']] = [receiver.secrets, other.secrets]
  await feed.burn()
  await world.deliver()
  const [[event], [same]] = [receiver.events, other.events]
  assert.ok(event !== undefined && same !== undefined)
  assert.deepEqual(event.data, same.data)
  assert.deepEqual([verifies(own, event), verifies(others, event)], [true, false])
  assert.deepEqual([verifies(own, same), verifies(others, same)], [false, true])
})

guarantee('stock libraries verify with the new secret alone after a rotation', async (stock) => {
  const { world, key } = stock
  const receiver = await world.receiver()
  const webhookId = await world.webhook(key, receiver, { kind: 'burn' })
  const [old = ''] = receiver.secrets
  const rotated = await world.call(key, 'rotateWebhookSecret', { webhookId })
  const { secret } = bodyOf<{ secret: string }>(rotated)
  const event = await nextEvent(world, receiver)
  assert.deepEqual([verifies(old, event), verifies(secret, event)], [false, true])
})

guarantee('the receiver of docs/webhooks.md stores events', async (stock) => {
  const { world, key } = stock
  const port = await freePort()
  const url = `http://receiver.localhost:${port}/hook`
  const registered = await world.call(key, 'registerWebhook', { body: { url } })
  const { webhook, secret } = bodyOf<{ webhook: { id: string }; secret: string }>(registered)
  const child = runDocumented(secret, port)
  try {
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const next = async () => JSON.parse((await lines.next()).value ?? '')
    assert.equal(await next(), 'listening')
    await feed.burn()
    await world.deliver()
    const [id, event] = await next()
    assert.ok(String(id).startsWith(webhook.id))
    assert.deepEqual([event.type, event.webhookId, event.url], ['burn.add', webhook.id, url])
  } finally {
    await ended(child)
  }
})

function runDocumented(secret: string, port: number) {
  const root = join(import.meta.dirname, '../..')
  const text = readFileSync(join(root, 'docs/webhooks.md'), 'utf8')
  const [, code = ''] = /^```js\n(.*?)^```$/ms.exec(text) ?? []
  const listen = `.listen(${port}, '127.0.0.1', () => console.log('"listening"'))`
  const store = 'const store = (...event) => console.log(JSON.stringify(event))\n'
  const program = store + code.replace('.listen(8080)', listen)
  return spawn(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: root,
    env: { ...process.env, WEBHOOK_SECRET: secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  child.kill()
  await once(child, 'exit')
}
