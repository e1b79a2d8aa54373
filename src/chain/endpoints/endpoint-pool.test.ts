import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
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
import { RpcError } from '../rpc-error.ts'
import { openRpcSource, type RpcOptions } from '../rpc-source.ts'

const filter = scriptedFilter

interface World {
  readonly nodes: readonly (ScriptedNode & { readonly chain: ScriptedChain })[]
  readonly source: ReturnType<typeof openRpcSource>
  /** State changes as `host state`, hosts by their place in the list. */
  readonly events: string[]
  advance(ms: number): void
  /** Lets time pass and the next round of probes take place. */
  probe(afterMs?: number): Promise<void>
  /** Who answers now, by its place. */
  current(): Promise<number>
  states(): readonly string[]
}

const running: ScriptedNode[] = []
after(() => Promise.all(running.map((node) => node.stop())))

/** Nodes of one chain, each a little different, behind one source. */
async function world(
  chains: readonly Partial<ScriptedChain>[],
  options: Partial<RpcOptions> = {},
): Promise<World> {
  const nodes = await Promise.all(
    chains.map(async (more) => {
      const chain = scriptedChain(more)
      return Object.assign(await startScriptedNode(chainScript(chain)), { chain })
    }),
  )
  running.push(...nodes)
  const timing = movableTiming()
  const events: string[] = []
  const urls = nodes.map((node) => node.url)
  const place = (host: string) => nodes.findIndex((node) => node.host === host)
  const source = openRpcSource({
    ...{ chainId: 1, urls, timing },
    onEvent: ({ host, state }) => events.push(`${place(host)} ${state}`),
    ...options,
  })
  return {
    ...{ nodes, source, events },
    advance: timing.advance,
    async probe(afterMs = 16_000) {
      timing.advance(afterMs)
      await source.header('latest').catch(() => undefined)
      await untilQuiet(nodes)
    },
    async current() {
      const before = nodes.map((node) => node.requests.length)
      await source.header(1)
      return nodes.findIndex((node, index) => node.requests.length > (before[index] ?? 0))
    },
    states: () => source.endpoints().map((each) => each.state),
  }
}

/** So many turns of the event loop without a request, and none is on its way. */
const QUIET_TURNS = 25

/** Counted in turns and not in time, so that a busy machine makes no difference. */
async function untilQuiet(nodes: readonly ScriptedNode[]): Promise<void> {
  const asked = () => nodes.reduce((sum, node) => sum + node.requests.length, 0)
  for (let turns = 0, last = asked(); turns < QUIET_TURNS; turns += 1) {
    await new Promise((resolve) => setTimeout(resolve, 1))
    if (asked() !== last) turns = 0
    last = asked()
  }
}

/** Makes a node fail every request until it is mended. */
function breakDown(node: ScriptedNode): void {
  node.script.intercept = ({ outgoing }) => {
    outgoing.writeHead(503).end('down')
    return true
  }
}

function mend(node: ScriptedNode): void {
  node.script.intercept = undefined
}

test('an endpoint of another chain is never asked anything but which chain it is of', async () => {
  const { source, nodes, states } = await world([{ chainId: 5 }, {}])
  assert.equal((await source.header('latest'))?.number, 1_000)
  const [wrong] = nodes
  assert.deepEqual(states(), ['wrong-chain', 'ok'])
  const asked = new Set(
    wrong?.requests
      .slice(1)
      .flat()
      .map((call) => call.method),
  )
  assert.equal(asked.size, 0)
  assert.match(String(source.endpoints()[0]?.reason), /serves chain 5 instead of 1/)
})

test('when every endpoint is of another chain, the error and the chain id say so', async () => {
  const { source } = await world([{ chainId: 5 }])
  await assert.rejects(source.header('latest'), /serves chain 5 instead of 1/)
  assert.equal(await source.askChainId(), 5)
})

test('a single endpoint that reported a wrong chain is used again once it reports the right one', async () => {
  const { source, nodes, advance, states } = await world([{}])
  const [node] = nodes
  assert.ok(node !== undefined)
  for (let times = 0; times < 5; times += 1) {
    assert.equal((await source.header('latest'))?.number, 1_000)
    node.chain.chainId = 5
    advance(16_000)
    // The probe that notices may run after the answer.
    await source.header('latest').catch(() => undefined)
    while (states()[0] === 'ok') await setImmediate()
    await assert.rejects(source.header('latest'), /serves chain 5 instead of 1/)
    node.chain.chainId = 1
    advance(2_000)
  }
  assert.equal((await source.header('latest'))?.number, 1_000)
  assert.deepEqual(states(), ['ok'])
})

test('an endpoint that was down at the start proves its chain before it is used', async () => {
  const { source, nodes, states } = await world([{ chainId: 5 }])
  const [node] = nodes
  assert.ok(node !== undefined)
  breakDown(node)
  await assert.rejects(source.header('latest'), RpcError)
  mend(node)
  await assert.rejects(source.header(1), /serves chain 5/)
  assert.deepEqual(states(), ['wrong-chain'])
})

test('an endpoint far behind is set aside, named, and comes back when it has caught up', async () => {
  const { source, nodes, events, probe, states } = await world([{ head: 800 }, {}])
  // The first answer does not wait for the last endpoint.
  await source.header('latest')
  await until(() => states()[0] === 'lagging' && states()[1] === 'ok')
  assert.equal((await source.header('latest'))?.number, 1_000)
  assert.deepEqual(states(), ['lagging', 'ok'])
  assert.match(String(source.endpoints()[0]?.reason), /200 blocks \(400 s\) behind/)
  Object.assign(nodes[0]?.chain ?? {}, { head: 1_000 })
  await probe()
  assert.deepEqual(states(), ['ok', 'ok'])
  assert.deepEqual(events.slice(-1), ['0 ok'])
})

test('a few blocks, or a single one of a quiet chain, are no lag', async () => {
  const near = await world([{ head: 990 }, {}])
  await near.source.header('latest')
  assert.deepEqual(near.states(), ['ok', 'ok'])
  const quiet = await world([{ head: 999, secondsPerBlock: 7_200 }, { secondsPerBlock: 7_200 }])
  await quiet.source.header('latest')
  assert.deepEqual(quiet.states(), ['ok', 'ok'])
})

/** The first answer does not wait for the last endpoint. */
async function until(isSo: () => boolean): Promise<void> {
  for (let waits = 0; !isSo() && waits < 200; waits += 1)
    await new Promise((resolve) => setTimeout(resolve, 5))
}

test('while the preferred endpoint fails the next answers; it is returned to when well for 30 s', async () => {
  const { nodes, source, current, probe, events, advance } = await world([{}, {}])
  const [first] = nodes
  assert.ok(first !== undefined)
  assert.equal(await current(), 0)
  breakDown(first)
  for (let times = 0; times < 3; times += 1) await source.header(1)
  assert.equal(source.endpoints()[0]?.state, 'failing')
  assert.equal(await current(), 1)
  mend(first)
  await probe()
  assert.deepEqual(events.slice(-2), ['0 failing', '0 ok'])
  assert.equal(await current(), 1, 'not yet')
  advance(31_000)
  await probe()
  assert.equal(await current(), 0)
})

test('an endpoint that stays down is probed with growing pauses', async () => {
  const { nodes, source, probe } = await world([{}, {}])
  const [first] = nodes
  assert.ok(first !== undefined)
  await source.header(1)
  breakDown(first)
  for (let times = 0; times < 3; times += 1) await source.header(1)
  const before = first.requests.length
  for (let times = 0; times < 40; times += 1) await probe()
  // Ten minutes at one probe in 15 s would be 40.
  const probes = first.requests.length - before
  assert.ok(probes >= 3 && probes <= 12, `${probes} probes`)
})

test('one endpoint alone that comes back is asked again at once', async () => {
  const { nodes, source, states } = await world([{}])
  const [node] = nodes
  assert.ok(node !== undefined)
  breakDown(node)
  for (let times = 0; times < 3; times += 1) await assert.rejects(source.header(1))
  assert.deepEqual(states(), ['failing'])
  mend(node)
  assert.equal((await source.header(1))?.number, 1)
  assert.deepEqual(states(), ['ok'])
})

test('a proven lie sets an endpoint aside for a minute, and for longer each time', async () => {
  const { source, states, probe } = await world([{}, {}])
  const [liar] = source.endpoints().map((each) => each.host)
  assert.ok(liar !== undefined)
  await probe(0)
  assert.deepEqual(states(), ['ok', 'ok'])
  source.distrust(liar, 'hides a log of block 7')
  assert.deepEqual(states(), ['lying', 'ok'])
  assert.equal(source.endpoints()[0]?.reason, 'hides a log of block 7')
  await probe(30_000)
  assert.deepEqual(states(), ['lying', 'ok'])
  await probe(31_000)
  assert.deepEqual(states(), ['ok', 'ok'])
  await probe(31_000)
  source.distrust(liar, 'hides a log of block 7')
  assert.deepEqual(states(), ['lying', 'ok'])
  await probe(61_000)
  assert.deepEqual(states(), ['lying', 'ok'])
  await probe(61_000)
  assert.deepEqual(states(), ['ok', 'ok'])
})

test('history is asked only of an endpoint that knows the end of the range itself', async () => {
  const { source, nodes } = await world([{ head: 960 }, {}])
  const hosts = new Set<string>()
  for await (const part of source.history({ filter, from: 0, to: 990 })) hosts.add(part.host)
  assert.deepEqual([...hosts], [nodes[1]?.host])
  assert.equal(nodes[0]?.count('eth_getLogs'), 0)
})

test('history above every head is an error that names the block, after all were asked again', async () => {
  const { source, nodes } = await world([{}])
  const last = async (to: number) => {
    for await (const part of source.history({ filter, from: 0, to }))
      if (part.to === to) return part.to
    return undefined
  }
  await assert.rejects(last(1_200), /no endpoint knows block 1200/)
  Object.assign(nodes[0]?.chain ?? {}, { head: 1_300 })
  assert.equal(await last(1_200), 1_200)
})

test('an endpoint that has dropped old history is named, and another gives it', async () => {
  const { source, nodes, states } = await world([{}, {}])
  const [pruned, whole] = nodes
  assert.ok(pruned !== undefined && whole !== undefined)
  const { answer } = chainScript(pruned.chain)
  pruned.script.answer = (call) => {
    if (call.method === 'eth_getLogs') throw new Refusal('pruned history unavailable', 4444)
    return answer(call)
  }
  for await (const part of source.history({ filter, from: 0, to: 900 }))
    assert.equal(part.host, whole.host)
  assert.deepEqual(states(), ['pruned', 'ok'])
})

test('a failed answer of one endpoint is asked of the next', async () => {
  const { source, nodes } = await world([{}, {}])
  const [first] = nodes
  assert.ok(first !== undefined)
  const { answer } = chainScript(first.chain)
  first.script.answer = (call) => (call.params[0] === '0x7' ? { number: 'seven' } : answer(call))
  await source.header('latest')
  await untilQuiet(nodes)
  assert.equal((await source.header(7))?.number, 7)
  assert.equal(source.endpoints()[0]?.failed, 1)
})

test('endpoints that are not in use are not probed', async () => {
  const { source, nodes, advance } = await world([{}, {}])
  const settle = () => new Promise((resolve) => setTimeout(resolve, 100))
  await source.header(1)
  await settle()
  const before = nodes.map((node) => node.requests.length)
  advance(3_600_000)
  await settle()
  assert.deepEqual(
    nodes.map((node) => node.requests.length),
    before,
  )
})

test('an endpoint that hangs neither delays the first answer for long nor keeps the process alive', async () => {
  const { nodes } = await world([{}, {}])
  const [, hanging] = nodes
  assert.ok(hanging !== undefined)
  hanging.script.intercept = () => true
  const source = new URL('../rpc-source.ts', import.meta.url).href
  const urls = JSON.stringify(nodes.map((node) => node.url))
  const script = `import { openRpcSource } from ${JSON.stringify(source)}
    const header = await openRpcSource({ chainId: 1, urls: ${urls} }).header('latest')
    process.stdout.write(String(header.number))`
  const startedMs = Date.now()
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script])
  const [output] = await Promise.all([child.stdout.toArray(), once(child, 'close')])
  assert.equal(Buffer.concat(output).toString(), '1000')
  assert.ok(Date.now() - startedMs < 4_000, 'the probe alone would take ten seconds')
})
