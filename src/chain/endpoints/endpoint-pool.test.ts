import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, test } from 'node:test'
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
