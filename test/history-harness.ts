import assert from 'node:assert/strict'
import { afterEach, beforeEach } from 'node:test'
import type { HistoryPart, HistoryRequest } from '#chain/chain-source.ts'
import { openRpcSource } from '#chain/rpc-source.ts'
import {
  chainScript,
  movableTiming,
  type Script,
  type ScriptedCall,
  type ScriptedNode,
  scriptedChain,
  scriptedFilter,
  startScriptedNode,
} from './scripted-node.ts'

export const filter = scriptedFilter
export const chain = scriptedChain()
export let script: Script
export let node: ScriptedNode
export let spare: ScriptedNode

/** For each test of a file, since a request of another test may still be on its way. */
export function useNodes(): void {
  beforeEach(async () => {
    Object.assign(chain, scriptedChain())
    script = chainScript(chain)
    node = await startScriptedNode(script)
    spare = await startScriptedNode(chainScript(chain))
  })
  afterEach(() => Promise.all([node.stop(), spare.stop()]))
}

export const open = (...nodes: readonly ScriptedNode[]) =>
  openRpcSource({ chainId: 1, urls: nodes.map((each) => each.url), timing: movableTiming() })

/** A part, and the heights of its logs. */
export type ReadPart = Omit<HistoryPart, 'logs'> & { readonly heights: readonly number[] }

export async function readAll(
  source: ReturnType<typeof open>,
  more: Partial<HistoryRequest> = {},
): Promise<readonly ReadPart[]> {
  const parts: ReadPart[] = []
  const request = { filter, from: 0, to: chain.head, ...more }
  for await (const { logs, ...part } of source.history(request))
    parts.push({ ...part, heights: logs.map(({ blockNumber }) => blockNumber) })
  return parts
}

/** Parts follow one another from the first block to the last, and every log is there once. */
export function assertWhole(parts: readonly ReadPart[], from = 0, to = chain.head): void {
  let next = from
  for (const part of parts) {
    assert.equal(part.from, next)
    next = part.to + 1
  }
  assert.equal(next, to + 1)
  const wanted: number[] = []
  for (let block = from; block <= to; block += 1)
    for (let log = 0; log < chain.logsPerBlock(block); log += 1) wanted.push(block)
  assert.deepEqual(
    parts.flatMap((part) => part.heights),
    wanted,
  )
}

export const rangeOf = ({ params }: ScriptedCall) => {
  const [first] = params as readonly [{ readonly fromBlock: string; readonly toBlock: string }]
  return { from: Number(first.fromBlock), to: Number(first.toBlock) }
}

/** Asks for logs. */
export const isLogs = (call: ScriptedCall | undefined): call is ScriptedCall =>
  call?.method === 'eth_getLogs'

export const logRequests = (each: ScriptedNode) => each.requests.flat().filter(isLogs)

/** Each range once: one that is late may be asked twice. */
export function rangesAsked(each: ScriptedNode): readonly { from: number; to: number }[] {
  const ranges = logRequests(each).map(rangeOf)
  return [...new Map(ranges.map((range) => [`${range.from} ${range.to}`, range])).values()]
}

/** Refuses ranges, as the text says, until they are short enough. */
export function refuseLong(blocksMax: number, refuse: (call: ScriptedCall) => unknown): void {
  const { answer } = chainScript(chain)
  script.answer = (call) => {
    if (isLogs(call) && rangeOf(call).to - rangeOf(call).from >= blocksMax) return refuse(call)
    return answer(call)
  }
}
