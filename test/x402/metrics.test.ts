import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setAutomine } from '#devnet/actions.ts'
import { newVisitor, signPayment, untilBalance } from './raw-payment.ts'
import { newPayer, passBlocks, startX402World, type X402World } from './x402-world.ts'

const PATH = '/api/burns/total'

describe('the metrics of x402 payments', () => {
  let world: X402World
  before(async () => {
    world = await startX402World({
      environment: { SEXTON_TRUSTED_PROXIES: '127.0.0.1/32', SEXTON_METRICS_PORT: '0' },
    })
  })
  after(() => world.stop())

  async function read(): Promise<Map<string, number>> {
    const { metricsPort } = world.service.served
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
    const found = [...text.matchAll(/^sexton_x402_(\w+)\{of="(\w+)"\} (\S+)$/gm)]
    return new Map(found.map(([, name, of, value]) => [`${name} ${of}`, Number(value)]))
  }

  test('show what became of payments, the gas of the day below its ceiling, and the wallet', async () => {
    const before = await read()
    assert.equal(before.get('payments settled'), 0)
    assert.equal(before.get('gas_gwei used'), 0)
    assert.equal(before.get('gas_gwei ceiling'), 40_000_000)
    assert.equal(before.get('offers_shown now'), 1)
    const visitor = await newVisitor(world)
    const { header } = await signPayment(await newPayer(world.base, 5_000_000n))
    assert.equal((await visitor.get(PATH, header)).status, 200)
    assert.equal((await visitor.get(PATH, header)).status, 409)
    const other = await newVisitor(world)
    const poor = await signPayment(await newPayer(world.base, 0n))
    assert.equal((await other.get(PATH, poor.header)).status, 402)
    assert.equal((await other.get(PATH, 'e30=')).status, 402)
    const after = await read()
    assert.equal(after.get('payments settled'), 1)
    assert.equal(after.get('payments used'), 1)
    assert.equal(after.get('payments rejected'), 2)
    assert.equal(after.get('payments pending'), 0)
    const spent = (before.get('wallet_gwei balance') ?? 0) - (after.get('wallet_gwei balance') ?? 0)
    assert.ok((after.get('gas_gwei used') ?? 0) > spent, 'counted as the most that it may cost')
  })

  test('show a payment that is open, and that it is open no more', async () => {
    const visitor = await newVisitor(world)
    const { header } = await signPayment(await newPayer(world.base, 5_000_000n))
    await setAutomine(world.base, false)
    assert.equal((await visitor.get(PATH, header)).status, 503)
    const open = await read()
    assert.equal(open.get('open_payments submitted'), 1)
    assert.equal(open.get('payments pending'), 1)
    assert.ok((open.get('open_seconds oldest') ?? 0) >= 1)
    await setAutomine(world.base, true)
    await passBlocks(world.base, 1)
    await untilBalance(visitor, 0.1)
    const closed = await read()
    assert.equal(closed.get('open_payments submitted'), 0)
    assert.equal(closed.get('open_seconds oldest'), 0)
  })
})
