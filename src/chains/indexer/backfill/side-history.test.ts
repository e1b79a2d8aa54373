import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { RpcError } from '#chains/chain/rpc-error.ts'
import { openRpcSource } from '#chains/chain/rpc-source.ts'
import {
  chainScript,
  movableTiming,
  Refusal,
  type ScriptedChain,
  type ScriptedNode,
  scriptedChain,
  scriptedFilter,
  startScriptedNode,
} from '#test/scripted-node.ts'
import { SideHistory } from './side-history.ts'

const nodes: ScriptedNode[] = []
after(() => Promise.all(nodes.map((node) => node.stop())))

async function begin(more: Partial<ScriptedChain>, rangeMax: number) {
  const chain = scriptedChain(more)
  const script = chainScript(chain)
  const { answer } = script
  script.answer = (call) => {
    const [range] = call.params as readonly [{ fromBlock: string; toBlock: string }]
    const isLong =
      call.method === 'eth_getLogs' && Number(range.toBlock) - Number(range.fromBlock) >= rangeMax
    if (isLong) throw new Refusal(`eth_getLogs is limited to a ${rangeMax} range`)
    return answer(call)
  }
  const node = await startScriptedNode(script)
  nodes.push(node)
  const source = openRpcSource({ chainId: 1, urls: [node.url], timing: movableTiming() })
  const side = new SideHistory(source, { filter: scriptedFilter, from: 0, to: chain.head })
  return { chain, node, side }
}

async function heightsUpTo(side: SideHistory, block: number): Promise<readonly number[]> {
  const heights: number[] = []
  for await (const { columns, from, to } of side.upTo(block))
    for (const height of columns.blockNumber.subarray(0, columns.count)) {
      assert.ok(height >= from && height <= to)
      heights.push(height)
    }
  return heights
}

const blocks = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index)

test('whatever block it is asked up to, every log comes once and in its turn', async () => {
  const { side } = await begin({}, 70)
  let next = 0
  for (const to of [0, 0, 1, 69, 70, 71, 300, 301, 999, 1_000]) {
    assert.deepEqual(await heightsUpTo(side, to), blocks(next, to))
    next = to + 1
  }
  assert.deepEqual(await heightsUpTo(side, 1_000), [])
  await side.stop()
})

test('it is read ahead while nobody asks, but no dense history without end', async () => {
  const sparse = await begin(
    { head: 5_000, logsPerBlock: (block) => Number(block % 500 === 0) },
    100,
  )
  const dense = await begin({ head: 60_000, logsPerBlock: () => 4 }, 2_000)
  const settled = async (node: ScriptedNode) => {
    for (let before = -1; before !== node.requests.length; ) {
      before = node.requests.length
      await new Promise((resolve) => setTimeout(resolve, 300))
    }
    return node.count('eth_getLogs')
  }
  assert.ok((await settled(sparse.node)) >= 50)
  const asked = await settled(dense.node)
  assert.ok(asked < 20, `${asked} of 30 requests`)
  assert.equal((await heightsUpTo(dense.side, 60_000)).length, 240_004)
  await Promise.all([sparse.side.stop(), dense.side.stop()])
})

test('a failure is told when its turn comes, and stopping is none', async () => {
  const { node, side } = await begin({}, 70)
  node.script.answer = () => {
    throw new Refusal('exceed maximum block range: 0')
  }
  await assert.rejects(heightsUpTo(side, 1_000), RpcError)
  await side.stop()
  const other = await begin({}, 70)
  await other.side.stop()
})
