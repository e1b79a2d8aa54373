import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isRefusal } from '#base/refusal.ts'
import { readConfig } from '#config.ts'
import type { Context } from '#context.ts'
import type { Engine } from '#db/engine.ts'
import { sql } from '#db/sql.ts'
import { openSqlite } from '#db/sqlite/open-sqlite.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { WebhookSender } from '#feed/send-webhooks.ts'
import { webhookRoutes } from '#feed/webhook-routes.ts'
import type { Outcome, Route } from '#route.ts'
import {
  bearer,
  bodyOf,
  createHarness,
  type Harness,
  type Secret,
} from '#test/callers/callers-harness.ts'
import { type StreamWorld, startStreamWorld } from '../feed/stream-world.ts'
import { testCall } from '../test-call.ts'
import { SILENT, testContext } from '../test-context.ts'
import { type Receiver, startReceiver } from './receiver.ts'

/** A real register over a made-up chain, whose feed tests write by burning. */
export interface FeedWorld {
  readonly ecosystem: Ecosystem
  readonly register: Engine
  readonly stream: StreamWorld
  burn(count?: number): Promise<void>
  /** As another register. */
  rebuild(): Promise<void>
  end(): Promise<void>
}

/** Wallets have ten free events a day, as calls in the harness of callers. */
export async function startFeedWorld(
  folder = mkdtempSync(join(tmpdir(), 'sexton-webhooks-')),
): Promise<FeedWorld> {
  const register = openSqlite({ file: join(folder, 'register.sqlite'), durability: 'normal' })
  const stream = await startStreamWorld({}, [register])
  const { quotas } = stream.ecosystem
  return {
    register,
    stream,
    ecosystem: { ...stream.ecosystem, quotas: { ...quotas, free: 10, premium: 20 } },
    burn: (count) => stream.burn(count),
    rebuild: () =>
      register.write(async (connection) => {
        await connection.run(sql`update feed set epoch = ${randomBytes(6).toString('hex')}`)
      }),
    async end() {
      await stream.end()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export interface WebhookWorld {
  readonly callers: Harness
  readonly engine: Engine
  readonly now: { ms: number }
  readonly reported: unknown[]
  sender(more?: Partial<Context>): WebhookSender
  call(key: Secret, operationId: string, input?: CallInput): Promise<Outcome>
  receiver(): Promise<Receiver>
  /** An active webhook of a receiver. */
  webhook(key: Secret, receiver: Receiver, filter?: object): Promise<string>
  show(key: Secret, webhookId: string): Promise<Shown>
  /** Until nothing is due. */
  deliver(sender?: WebhookSender): Promise<void>
  counted(key: Secret): Promise<{ readonly used: number; readonly paid: number }>
  end(): Promise<void>
}

interface CallInput {
  readonly webhookId?: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export interface Shown {
  readonly state: string
  readonly reason: string | null
  readonly delivered: number
  readonly cursor: string | null
  readonly failedAttempts: number
  readonly lastAnswer: { readonly answer: string } | null
}

export function createWebhookWorld(feed: FeedWorld, engine: Engine): WebhookWorld {
  const callers = createHarness(engine)
  const { now } = callers
  const reported: unknown[] = []
  const ctx = webhookContext(feed, engine, {
    clock: () => now.ms,
    logger: { ...SILENT, error: (fields: unknown) => void reported.push(fields) },
  })
  const routes = webhookRoutes(ctx)
  const receivers: Receiver[] = []
  const senders: WebhookSender[] = []
  const world: WebhookWorld = {
    callers,
    engine,
    now,
    reported,
    sender(more = {}) {
      const made = new WebhookSender({ ...ctx, ...more })
      senders.push(made)
      return made
    },
    call: (key, operationId, input = {}) =>
      callRoute({ callers, routes }, { key, operationId, ...input }),
    async receiver() {
      const made = await startReceiver()
      receivers.push(made)
      return made
    },
    async webhook(key, { url, secrets }, filter = {}) {
      const made = await world.call(key, 'registerWebhook', { body: { url, filter } })
      const { webhook, secret } = bodyOf<{ webhook: { id: string }; secret: string }>(made)
      secrets.push(secret)
      return webhook.id
    },
    async show(key, webhookId) {
      const shown = await world.call(key, 'getWebhook', { webhookId })
      return bodyOf<{ webhook: Shown }>(shown).webhook
    },
    async deliver(sender = senders[0] ?? world.sender()) {
      while (reported.length === 0 && (await hasWork(sender, engine)));
    },
    counted: (key) => countedCalls(engine, key),
    async end() {
      for (const each of senders) await each.stop()
      for (const each of receivers) await each.stop()
    },
  }
  return world
}

/** Does what there is to do now; whether any webhook changed. */
export async function hasWork(sender: WebhookSender, engine: Engine): Promise<boolean> {
  const read = () =>
    engine.read(sql`select id, cursor, enabled, due_ms, attempts from webhooks order by id`)
  const before = await read()
  await sender.pass()
  await sender.idle()
  return JSON.stringify(await read()) !== JSON.stringify(before)
}

/** As a service has it, with receivers on this machine. */
export function webhookContext(
  { register, ecosystem }: Pick<FeedWorld, 'register' | 'ecosystem'>,
  accounts: Engine,
  more: Partial<Context>,
): Context {
  const config = { ...readConfig({}, { isTty: false }), webhookPrivate: true }
  return testContext({ register, ecosystem, accounts, config, ...more })
}

async function callRoute(
  { callers, routes }: { readonly callers: Harness; readonly routes: readonly Route[] },
  input: CallInput & { readonly key: Secret; readonly operationId: string },
): Promise<Outcome> {
  const { key, operationId, webhookId = '', query = {}, body } = input
  const route = routes.find((each) => each.operationId === operationId)
  assert.ok(route !== undefined, operationId)
  const given = new Map(Object.entries(query).map(([name, value]) => [name, [value]]))
  const prepared = route.prepare({ query: given, path: { webhookId }, body })
  if (isRefusal(prepared)) return prepared
  const { headers } = key.secret === '' ? { headers: {} } : bearer(key.secret)
  const caller = await callers.metering.identify(headers, '192.0.2.1')
  if (isRefusal(caller)) return caller
  return prepared.run(testCall({ headers }), caller)
}

/** Of the key's wallet. */
export async function countedCalls(engine: Engine, { publicId }: Pick<Secret, 'publicId'>) {
  const [row = {}] = await engine.read(sql`
    select cast(coalesce(sum(used), 0) as bigint) as used,
      cast(coalesce(sum(paid), 0) as bigint) as paid from usage_days
    where bucket = (select 'wallet:' || wallet from keys where public_id = ${publicId})`)
  return { used: Number(row.used), paid: Number(row.paid) }
}
