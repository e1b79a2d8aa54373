import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { x402Client } from '@x402/core/client'
import { PaymentRequiredV2Schema } from '@x402/core/schemas'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { newPayer, startX402World, type X402World } from '../x402/x402-world.ts'

const HOLDER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

/** Official client; every check below is of what it parsed and validated. */
describe('an MCP client', () => {
  let world: X402World
  before(async () => {
    world = await startX402World({
      change: (file) => ({ ...file, quotas: { anonymous: 40, free: 40, premium: 40 } }),
    })
  })
  after(() => world.stop())

  async function connect(headers: Record<string, string> = {}): Promise<Client> {
    const client = new Client({ name: 'test', version: '1' })
    const address = new URL('/mcp', world.origin)
    const transport = new StreamableHTTPClientTransport(address, { requestInit: { headers } })
    // Its type wants a session id, which a stateless server has not.
    await client.connect(transport as Parameters<Client['connect']>[0])
    return client
  }

  test('it lists a tool for each data endpoint with its cost, in a few kilobytes, and each answers', async () => {
    const client = await connect()
    const { tools } = await client.listTools()
    assert.equal(tools.length, 13)
    assert.ok(JSON.stringify(tools).length < 20_000)
    for (const tool of tools) {
      assert.match(tool.description ?? '', /Cost: (free|one call of the daily quota)/)
      const values = 'address' in (tool.inputSchema.properties ?? {}) ? { address: HOLDER } : {}
      const result = await call(client, tool.name, values)
      assert.equal(result.isError, undefined, `${tool.name}: ${JSON.stringify(result)}`)
      assert.ok(result.structuredContent !== undefined)
      assert.deepEqual(
        JSON.parse(textOf(result)),
        result.structuredContent,
        'a model reads the text',
      )
    }
    await client.close()
  })

  test('a tool counts as a call of its endpoint, and the free one does not', async () => {
    const client = await connect()
    const used = async () => {
      const { structuredContent } = await call(client, 'getUsage')
      return Number(structuredContent?.requestCount)
    }
    const before = await used()
    const result = await call(client, 'listBurns', { limit: 2 })
    assert.match(JSON.stringify(result._meta), /"source":"quota"/)
    assert.equal(await used(), before + 1)
    await call(client, 'listBurns', { limit: 0 })
    await call(client, 'listBurns', { format: 'csv' })
    assert.equal(await used(), before + 1)
    await client.close()
  })

  test('a wrong argument and a wrong key are errors of the tool, in the words of the API', async () => {
    const client = await connect()
    const wrong = await call(client, 'listBurns', { limit: 101 })
    assert.ok(wrong.isError && textOf(wrong).includes('must be an integer from 1 to 100'))
    const unknown = await call(client, 'listBurns', { limits: 1 })
    assert.match(textOf(unknown), /unknown arguments: limits; known: .*limit/)
    for (const values of [{ format: 'csv' }, { constructor: 1 }])
      assert.match(textOf(await call(client, 'listBurns', values)), /unknown arguments: /)
    for (const limit of [[3], { toString: 1 }, { limit: 3 }])
      assert.match(
        textOf(await call(client, 'listBurns', { limit })),
        /limit must be a text, a number/,
      )
    await assert.rejects(call(client, 'burnEverything'), /unknown tool/)
    await client.close()
    const stranger = connect({ Authorization: `Bearer svc_0123abcd_${'0'.repeat(32)}` })
    await assert.rejects(stranger, /invalid_api_key/, 'by every method')
  })

  test('beyond the quota it gets an offer that a stock x402 client pays, once, and sees the balance', async () => {
    const client = await connect()
    let refused: CallToolResult
    do refused = await call(client, 'getStats')
    while (refused.isError !== true)
    const offer = PaymentRequiredV2Schema.parse(refused.structuredContent)
    assert.deepEqual(JSON.parse(textOf(refused)), refused.structuredContent)
    const payer = await newPayer(world.base, 5_000_000n)
    const paying = new x402Client().register('eip155:*', new ExactEvmScheme(payer))
    const payment = await paying.createPaymentPayload(offer as never)
    const pay = () =>
      client.callTool({
        name: 'getStats',
        arguments: {},
        _meta: { 'x402/payment': payment },
      }) as Promise<CallToolResult>
    const paid = await pay()
    assert.equal(paid.isError, undefined, JSON.stringify(paid))
    const receipt = paid._meta?.['x402/payment-response'] as { success: boolean; payer: string }
    assert.equal(receipt.success, true)
    assert.equal(receipt.payer.toLowerCase(), payer.address.toLowerCase())
    const { structuredContent } = await call(client, 'getUsage')
    assert.equal(structuredContent?.prepaidBalanceUsd, 0.0999)
    const again = await pay()
    assert.match(textOf(again), /payment_already_used/)
    await client.close()
  })

  test('a page of another site is refused, a stream is not offered, broken JSON is an error', async () => {
    const post = (headers: Record<string, string>, body: string) =>
      fetch(`${world.origin}/mcp`, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          Accept: 'application/json, text/event-stream',
          ...headers,
        },
        body,
      })
    const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
    const other = await post({ Origin: 'https://elsewhere.example' }, ping)
    assert.equal(other.status, 403)
    assert.ok(other.headers.get('x-ratelimit-limit') !== null)
    assert.equal((await post({}, ping)).status, 200)
    const preflight = await fetch(`${world.origin}/mcp`, { method: 'OPTIONS' })
    const allowed = preflight.headers.get('access-control-allow-headers') ?? ''
    assert.match(allowed, /MCP-Protocol-Version/, 'so that the page reads the 403')
    for (const Accept of ['*/*', 'application/json', 'application/*;q=0.5'])
      assert.equal((await post({ Accept }, ping)).status, 200, Accept)
    assert.equal((await post({ Accept: 'text/html' }, ping)).status, 400)
    const nulls = await post({}, '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}')
    assert.match(await nulls.text(), /getStats/)
    const params = { name: 'getStats', arguments: null }
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
    const counted = await post({}, JSON.stringify(message))
    assert.match(await counted.text(), /"source":"(quota|prepaid)".*"content":\[\{"type":"text"/s)
    const broken = await post({}, '{')
    assert.equal(broken.status, 400)
    const batch = await post({}, `[${ping},${ping}]`)
    assert.equal(batch.status, 400)
    assert.match(await batch.text(), /one message per request/)
    assert.equal((await fetch(`${world.origin}/mcp`)).status, 405)
  })
})

function call(client: Client, name: string, values: Record<string, unknown> = {}) {
  return client.callTool({ name, arguments: values }) as Promise<CallToolResult>
}

function textOf({ content }: CallToolResult): string {
  const [first] = content
  assert.ok(first?.type === 'text')
  return first.text
}
