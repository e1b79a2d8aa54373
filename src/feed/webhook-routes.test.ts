import assert from 'node:assert/strict'
import { sql } from '#db/sql.ts'
import { accountsMigrations } from '#main/stores.ts'
import { bodyOf, codeOf } from '#test/callers/callers-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { testsOnFeed } from '#test/webhooks/tests-on-feed.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)
const guarantee = testsOnFeed()

const url = 'http://receiver.example:8080/hook'

guarantee(
  'a wallet has twenty webhooks, also when they are registered at once, and a rotation gives no more',
  async (world) => {
    const key = await world.callers.mint()
    const register = () => world.call(key, 'registerWebhook', { body: { url } })
    const codes = (await Promise.all(Array.from({ length: 24 }, register))).map(codeOf)
    assert.equal(codes.filter((each) => each === 201).length, 20)
    assert.equal(codes.filter((each) => each === 'webhook_limit_reached').length, 4)
    const next = await world.callers.rotate(key)
    const after = await world.call(next, 'registerWebhook', { body: { url } })
    assert.equal(codeOf(after), 'webhook_limit_reached')
  },
  onBoth,
)

guarantee(
  'a new secret replaces the old one at once, and no answer shows one again',
  async (world, feed) => {
    const key = await world.callers.mint()
    const receiver = await world.receiver()
    const webhookId = await world.webhook(key, receiver, { kind: 'burn' })
    const [old = ''] = receiver.secrets
    const rotated = await world.call(key, 'rotateWebhookSecret', { webhookId })
    const { secret } = bodyOf<{ secret: string }>(rotated)
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.notEqual(secret, old)
    receiver.secrets.splice(0, 1, secret)
    await feed.burn()
    await world.deliver()
    assert.equal(receiver.events.length, 1)
    for (const operation of ['getWebhook', 'listWebhooks']) {
      const shown = await world.call(key, operation, { webhookId })
      assert.ok(!JSON.stringify(shown).includes(secret.slice(6)), operation)
    }
  },
)

guarantee('other keys see and change nothing of a webhook', async (world) => {
  const [key, other] = [await world.callers.mint(), await world.callers.mint()]
  const webhookId = await world.webhook(key, await world.receiver())
  const input = { webhookId, body: {} }
  const operations = ['getWebhook', 'enableWebhook', 'deleteWebhook', 'rotateWebhookSecret']
  for (const each of operations) {
    assert.equal(codeOf(await world.call(other, each, input)), 'webhook_not_found', each)
    const anonymous = await world.call({ ...key, secret: '' }, each, input)
    assert.equal(codeOf(anonymous), 'invalid_api_key', each)
  }
  const listed = await world.call(other, 'listWebhooks')
  assert.ok(listed.kind === 'answer')
  assert.deepEqual((listed.body as { webhooks: unknown[] }).webhooks, [])
})

guarantee('a deleted webhook gets nothing more and leaves no row', async (world, feed) => {
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
  assert.deepEqual(await world.engine.read(sql`select id from webhooks`), [])
})

guarantee('wrong URLs and filters are refused with their names', async (world) => {
  const key = await world.callers.mint()
  const wrong = [
    [{ url: 'ftp://a.example' }, 'url'],
    [{ url, filter: { kind: 'mint' } }, 'filter.kind'],
    [{ url, filter: { token: 'DOGE' } }, 'filter.token'],
    [{ url, filter: { chain: 'solana' } }, 'filter.chain'],
    [{ url, filter: { address: '0x12' } }, 'filter.address'],
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
})
