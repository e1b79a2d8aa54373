import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { beginChain } from '#test/chain-builder/built-chain.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { startOwnDevnet } from '#test/start-own-devnet.ts'
import type { ChainSource } from './chain-source.ts'
import { bloomAdmits } from './follow.ts'
import { openRpcSource } from './rpc-source.ts'

const devnet = await startOwnDevnet()
after(() => devnet.stop())
const { rpcUrl, chainId } = devnet.chains.base
const source = openRpcSource({ chainId, urls: [rpcUrl] })

async function headersOf(from: ChainSource) {
  const head = await from.header('latest')
  assert.ok(head !== undefined)
  const numbers = Array.from({ length: head.number + 1 }, (_, number) => number)
  return Promise.all(numbers.map((number) => from.header(number)))
}

test('the bloom of a real block admits every log of its receipts', async () => {
  let logs = 0
  for (const header of await headersOf(source)) {
    assert.ok(header !== undefined && header.logsBloom !== null)
    for (const { address, topics } of (await source.receiptLogs(header.hash)) ?? []) {
      const filter = { addresses: [address], topics: topics.map((topic) => [topic]) }
      assert.ok(bloomAdmits(header.logsBloom, filter), `block ${header.number}`)
      logs += 1
    }
  }
  assert.ok(logs > 200, `${logs} logs`)
})

test('the bloom of a real block denies what the block does not hold, but for rare chance', async () => {
  const stranger = `0x${'5e'.repeat(20)}` as const
  const headers = await headersOf(source)
  const admitted = headers.filter(
    (header) => header && bloomAdmits(header.logsBloom, { addresses: [stranger], topics: [] }),
  )
  assert.ok(admitted.length <= headers.length / 20, `${admitted.length} of ${headers.length}`)
})

test('a log is denied when its address is there but its topic is not', () => {
  const [grave, other] = [`0x${'11'.repeat(20)}`, `0x${'22'.repeat(20)}`] as const
  const transfer = logOf.transfer(grave, other, other, 1n)
  const { logsBloom } = beginChain(1, 0).add({ logs: [transfer] }).head
  const [topic] = transfer.topics
  assert.ok(topic !== undefined)
  const unknown = `0x${'33'.repeat(32)}` as const
  assert.ok(bloomAdmits(logsBloom, { addresses: [other, grave], topics: [[unknown, topic], null] }))
  assert.ok(!bloomAdmits(logsBloom, { addresses: [grave], topics: [[unknown]] }))
  assert.ok(!bloomAdmits(logsBloom, { addresses: [other], topics: [[topic], [unknown]] }))
})
