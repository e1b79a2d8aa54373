import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { buildMessage } from '#callers/keys/message.ts'
import { accountsMigrations } from '#main/stores.ts'
import { sql } from '#store/sql.ts'
import { bodyOf, codeOf, type Minted, type Secret } from '#test/callers/callers-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine, onSqlite } from '#test/store/each-engine.ts'
import { createWebhookWorld, type FeedWorld, startFeedWorld } from '#test/webhooks/webhook-world.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)
let feed: FeedWorld
before(async () => {
  feed = await startFeedWorld()
})
after(() => feed.end())

const url = 'http://receiver.example:8080/hook'

onBoth(
  'a wallet has twenty webhooks, also when they are registered at once, and a rotation gives no more',
  async ({ engine }) => {
    const world = createWebhookWorld(feed, engine)
    const key = await world.callers.mint()
    const register = () => world.call(key, 'registerWebhook', { body: { url } })
    const codes = (await Promise.all(Array.from({ length: 24 }, register))).map(codeOf)
    assert.equal(codes.filter((each) => each === 202).length, 20)
    assert.equal(codes.filter((each) => each === 'webhook_limit_reached').length, 4)
    const next = await world.callers.rotate(key)
    const after = await world.call(next, 'registerWebhook', { body: { url } })
    assert.equal(codeOf(after), 'webhook_limit_reached')
    await world.end()
  },
)

test('a webhook that lies about its challenge gets nothing until it echoes one', () =>
  onSqlite(accountsMigrations, async ({ engine }) => {
    const world = createWebhookWorld(feed, engine)
    const key = await world.callers.mint()
    const receiver = await world.receiver()
    const asked: string[] = []
    const lies = ['{"challenge":"other"}', '{}', 'null', '{"challenge":7}', 'no json', '']
    const [first = ''] = lies
    receiver.accept = (response) => response.end(first)
    const made = await world.call(key, 'registerWebhook', { body: { url: receiver.url } })
    assert.ok(made.kind === 'answer')
    const { webhook } = made.body as { webhook: { id: string } }
    const input = { webhookId: webhook.id }
    for (const lie of lies) {
      receiver.accept = (response, { data }) => {
        asked.push(String(data.challenge))
        response.end(lie)
      }
      await world.deliver()
      await feed.burn()
      await world.deliver()
      const { state, lastAnswer } = await world.show(key, webhook.id)
      assert.equal(`${state} ${lastAnswer?.answer}`, 'unverified challenge_not_echoed')
      await world.call(key, 'challengeWebhook', input)
    }
    assert.equal(receiver.events.length, 0)
    assert.equal(asked.length, lies.length, 'each challenge is sent once')
    assert.equal(new Set(asked).size, lies.length, 'and is a new one')
    receiver.accept = (response, { data }) =>
      response.writeHead(201).end(JSON.stringify({ challenge: data.challenge }))
    await world.deliver()
    assert.equal((await world.show(key, webhook.id)).state, 'active')
    await world.end()
  }))

test('the secret is shown again for a message that the wallet signed for this key, once', () =>
  onSqlite(accountsMigrations, async ({ engine }) => {
    const world = createWebhookWorld(feed, engine)
    const key = await world.callers.mint()
    const made = await world.call(key, 'registerWebhook', { body: { url } })
    const { webhook, secret } = bodyOf<{ webhook: { id: string }; secret: string }>(made)
    const sign = async (of: Minted, publicId = key.publicId) => {
      const issued = new Date(world.now.ms).toISOString()
      const { address } = of.wallet
      const values = { address, key: publicId, issued }
      const message = buildMessage(feed.ecosystem.service.name, 'webhook-secret', values)
      const signature = await of.wallet.signMessage({ message })
      return { ownerAddress: address, signature, message }
    }
    const ask = (body: object, of: Secret = key) =>
      world.call(of, 'showWebhookSecret', { webhookId: webhook.id, body })
    const body = await sign(key)
    assert.equal(bodyOf<{ secret: string }>(await ask(body)).secret, secret)
    assert.equal(codeOf(await ask(body)), 'signature_already_used')
    assert.equal(codeOf(await ask(await sign(key, '01234567'))), 'message_wrong_action')
    const other = await world.callers.mint()
    assert.equal(codeOf(await ask(await sign(other))), 'not_key_owner')
    assert.equal(codeOf(await ask(await sign(other, other.publicId), other)), 'webhook_not_found')
    const rotated = await world.call(key, 'rotateWebhookSecret', { webhookId: webhook.id })
    assert.notEqual(bodyOf<{ secret: string }>(rotated).secret, secret)
    await world.end()
  }))

test('other keys see and change nothing of a webhook', () =>
  onSqlite(accountsMigrations, async ({ engine }) => {
    const world = createWebhookWorld(feed, engine)
    const [key, other] = [await world.callers.mint(), await world.callers.mint()]
    const webhookId = await world.webhook(key, await world.receiver())
    const input = { webhookId, body: {} }
    const operations = ['getWebhook', 'challengeWebhook', 'deleteWebhook', 'rotateWebhookSecret']
    for (const each of operations) {
      assert.equal(codeOf(await world.call(other, each, input)), 'webhook_not_found', each)
      const anonymous = await world.call({ ...key, secret: '' }, each, input)
      assert.equal(codeOf(anonymous), 'invalid_api_key', each)
    }
    const listed = await world.call(other, 'listWebhooks')
    assert.ok(listed.kind === 'answer')
    assert.deepEqual((listed.body as { webhooks: unknown[] }).webhooks, [])
    await world.end()
  }))

test('a deleted webhook gets nothing more and leaves no row', () =>
  onSqlite(accountsMigrations, async ({ engine }) => {
    const world = createWebhookWorld(feed, engine)
    const key = await world.callers.mint()
    const receiver = await world.receiver()
    const webhookId = await world.webhook(key, receiver, { kind: 'burn' })
    receiver.behave = (response) => response.writeHead(503).end()
    await feed.burn(2)
    await world.deliver()
    assert.equal(codeOf(await world.call(key, 'deleteWebhook', { webhookId })), 200)
    assert.equal(codeOf(await world.call(key, 'getWebhook', { webhookId })), 'webhook_not_found')
    await feed.burn()
    await world.deliver()
    assert.equal(receiver.events.length, 1)
    assert.deepEqual(await engine.read(sql`select id from webhooks`), [])
    await world.end()
  }))

test('wrong URLs, filters and members are refused with their names', () =>
  onSqlite(accountsMigrations, async ({ engine }) => {
    const world = createWebhookWorld(feed, engine)
    const key = await world.callers.mint()
    const wrong = [
      [{ url: 'ftp://a.example' }, 'url'],
      [{ url, filter: { kind: 'mint' } }, 'filter.kind'],
      [{ url, filter: { token: 'DOGE' } }, 'filter.token'],
      [{ url, filter: { chain: 'solana' } }, 'filter.chain'],
      [{ url, filter: { address: '0x12' } }, 'filter.address'],
      [{ url, filter: { block: '1' } }, 'filter.block'],
      [{ url, secret: 'mine' }, 'secret'],
      [{}, 'url'],
    ] as const
    for (const [body, name] of wrong) {
      const refused = await world.call(key, 'registerWebhook', { body })
      assert.ok(refused.kind === 'refusal', name)
      assert.equal(refused.code, 'invalid_body')
      assert.deepEqual(
        refused.errors?.map((each) => `${each.in} ${each.name}`),
        [`body ${name}`],
      )
    }
    await world.end()
  }))
