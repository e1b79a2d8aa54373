import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { accounts, addresses } from '#devnet/addresses.ts'
import localEcosystem from '#devnet/local-ecosystem.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { runCode } from '#ecosystem/mapping-code.ts'
import { withModule } from './code-world.ts'

/** The guide's mappings and modules, in their order. */
const guide = readFileSync(join(import.meta.dirname, '../../docs/mappings-as-code.md'), 'utf8')
const blocks = [...guide.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block = '']) => block)
const [payouts = '', batched = '', kept = '', opened = '', graves = ''] = blocks

const event = {
  block: { number: 5, time: 1_735_689_600, hash: '0x01' },
  transactionHash: '0x02',
  emitter: '0x5fbdb2315678afecb367f032d93f642f64180aa3',
  logIndex: 3,
  args: {},
}
const { holder, operator } = accounts
const usdc = addresses.base.usdc.toLowerCase()

/** The mapping of a block such as `dividends: [{ … }],`, with its module. */
async function codeOf(mapping: string, module: string) {
  const { default: part } = await import(
    `data:text/javascript,${encodeURIComponent(`export default { ${mapping} }`)}`
  )
  let code: ReturnType<typeof parseEcosystem>['burns'][number]['code']
  await withModule(module, async (path) => {
    const [name = '', [entry] = []] = Object.entries<object[]>(part)[0] ?? []
    const file = { ...localEcosystem, [name]: [{ ...entry, rows: path }] }
    const ecosystem = parseEcosystem('guide', file)
    code = (name === 'graveDigs' ? ecosystem.graveDigs : ecosystem.dividends)[0]?.code
  })
  assert.ok(code !== undefined)
  return code
}

test('the batched payout of the guide is a row for each wallet', async () => {
  const code = await codeOf(payouts, batched)
  const args = { wallets: [holder.toLowerCase(), operator.toLowerCase()], amounts: [3n, 4n] }
  assert.deepEqual(runCode(code, { ...event, args }), [
    { 'rows.amount': 3n, 'rows.recipient': holder.toLowerCase() },
    { 'rows.amount': 4n, 'rows.recipient': operator.toLowerCase() },
  ])
})

test('the guide keeps burns from the end of the test phase on', async () => {
  const [burn] = localEcosystem.burns
  await withModule(kept, async (path) => {
    const file = { ...localEcosystem, burns: [{ ...burn, rows: path }] }
    const code = parseEcosystem('guide', file).burns[0]?.code
    assert.ok(code !== undefined)
    assert.deepEqual(runCode(code, event), [{}])
    const { block } = event
    const before = { ...event, block: { ...block, time: block.time - 1 } }
    assert.deepEqual(runCode(code, before), [])
  })
})

test('the grave of the guide is paid by the transfers of its transaction', async () => {
  const code = await codeOf(opened, graves)
  const args = { digger: holder.toLowerCase(), graveId: 7n }
  const transfer = (to: string) => ({
    ...{ ...event, emitter: usdc, name: 'Transfer' },
    args: { from: event.emitter, to: to.toLowerCase(), value: 5n },
  })
  const logs = [transfer(holder), transfer(operator)]
  assert.deepEqual(runCode(code, { ...event, args, logs }), [
    { 'rows.digger': args.digger, 'rows.amount': 5n, 'rows.graveId': '7', 'rows.token': usdc },
  ])
})
