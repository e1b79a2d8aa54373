import assert from 'node:assert/strict'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { auditService } from '#test/audit-service.ts'
import { passBlocks, startX402World, type X402World } from '#test/x402/x402-world.ts'
import { startCountingNode } from './counting-node.ts'
import type { Outcome, PayersInput } from './payers.ts'

/**
 * Many x402 payers at once, through our own wallet and through a facilitator of someone else. Payers
 * and facilitator have a thread each beside the service's.
 */
const { values } = parseArgs({
  options: {
    payers: { type: 'string', default: '2000' },
    /** Payers who are not served by then give up. */
    minutes: { type: 'string', default: '6' },
    /** One of the two; both unless given. */
    by: { type: 'string' },
  },
})
const payers = Number(values.payers)
const minutes = Number(values.minutes)

const IDLE_MS = 10_000

for (const kind of ['own wallet', 'facilitator'] as const)
  if ((values.by ?? kind) === kind) await measure(kind)
process.exit()

async function measure(kind: 'own wallet' | 'facilitator'): Promise<void> {
  const facilitator = kind === 'facilitator' ? startThread('facilitator.ts') : undefined
  const facilitatorUrl = facilitator && (await said<string>(facilitator))
  const node = await startCountingNode()
  const world = await startX402World({
    environment: { SEXTON_TRUSTED_PROXIES: '127.0.0.1/32' },
    ...(facilitatorUrl !== undefined && { facilitator: facilitatorUrl }),
    change(file) {
      const [rpcUrl = ''] = file.chains.find(({ name }) => name === 'base')?.rpcUrls ?? []
      node.follow(rpcUrl)
      facilitator?.postMessage(rpcUrl)
      return {
        ...file,
        chains: file.chains.map((chain) =>
          chain.name === 'base' ? { ...chain, rpcUrls: [node.url] } : chain,
        ),
      }
    },
  })
  try {
    const paying = startThread('payers.ts', payersOf(world))
    await said(paying)
    node.calls = 0
    await sleep(IDLE_MS)
    const idlePerMs = node.calls / IDLE_MS
    const startMs = performance.now()
    node.calls = 0
    paying.postMessage('pay')
    const outcomes = await said<readonly Outcome[]>(paying)
    const tookMs = performance.now() - startMs
    const asked = node.calls - idlePerMs * tookMs
    print(kind, outcomes, { tookMs, asked })
    await passBlocks(world.base, 3)
    assert.deepEqual(await auditService(world), [])
  } finally {
    await world.stop()
    await facilitator?.terminate()
    node.stop()
  }
}

function startThread(file: string, workerData?: PayersInput): Worker {
  return new Worker(new URL(file, import.meta.url), { workerData })
}

async function said<T>(thread: Worker): Promise<T> {
  const [message] = await once(thread, 'message')
  return message
}

function payersOf({ base, origin }: X402World): PayersInput {
  const { rpc: _, ...chain } = base
  return { origin, chain, payers, minutes }
}

function print(
  kind: string,
  outcomes: readonly Outcome[],
  { tookMs, asked }: { readonly tookMs: number; readonly asked: number },
): void {
  const served = outcomes.flatMap(({ servedMs }) => servedMs ?? []).sort((a, b) => a - b)
  const at = (part: number) =>
    `${((served[Math.floor(part * (served.length - 1))] ?? 0) / 1_000).toFixed(1)} s`
  const others = outcomes.flatMap((outcome) => outcome.others)
  console.table({
    'settled by': kind,
    payers,
    served: served.length,
    'payments a minute': Math.round(served.length / (tookMs / 60_000)),
    ...{ p50: at(0.5), p99: at(0.99) },
    'answers 503': outcomes.reduce((sum, { pending }) => sum + pending, 0),
    'other answers': JSON.stringify(
      Object.fromEntries([...Map.groupBy(others, String)].map(([name, all]) => [name, all.length])),
    ),
    'node calls per payment': (asked / Math.max(1, served.length)).toFixed(1),
  })
}
