import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { chunks } from '#lib/chunks.ts'
import { auditService } from '#test/audit-service.ts'
import { signPayment } from '#test/x402/raw-payment.ts'
import { startFacilitator } from '#test/x402/reference-facilitator.ts'
import { newPayer, passBlocks, startX402World, type X402World } from '#test/x402/x402-world.ts'
import { startCountingNode } from './counting-node.ts'

/**
 * Many x402 payers at once, through our own wallet and through a facilitator of someone else. Payers,
 * service and facilitator share this process.
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
const MINUTES = Number(values.minutes)

const AT_ONCE = 50
const IDLE_MS = 10_000
const PATH = '/api/burns/total'

for (const kind of ['own wallet', 'facilitator'] as const)
  if ((values.by ?? kind) === kind) await measure(kind)
process.exit()

async function measure(kind: 'own wallet' | 'facilitator'): Promise<void> {
  const facilitator = kind === 'facilitator' ? await startFacilitator() : undefined
  const node = await startCountingNode()
  const world = await startX402World({
    environment: { SEXTON_TRUSTED_PROXIES: '127.0.0.1/32' },
    ...(facilitator !== undefined && { facilitator: facilitator.url }),
    change(file) {
      const [rpcUrl = ''] = file.chains.find(({ name }) => name === 'base')?.rpcUrls ?? []
      node.follow(rpcUrl)
      facilitator?.follow(rpcUrl)
      return {
        ...file,
        chains: file.chains.map((chain) =>
          chain.name === 'base' ? { ...chain, rpcUrls: [node.url] } : chain,
        ),
      }
    },
  })
  try {
    const calls = await preparePayers(world)
    node.calls = 0
    await sleep(IDLE_MS)
    const idlePerMs = node.calls / IDLE_MS
    const startMs = performance.now()
    node.calls = 0
    const outcomes = await Promise.all(calls.map((call) => call(startMs + MINUTES * 60_000)))
    const tookMs = performance.now() - startMs
    const asked = node.calls - idlePerMs * tookMs
    print(kind, outcomes, { tookMs, asked })
    await passBlocks(world.base, 3)
    assert.deepEqual(await auditService(world), [])
  } finally {
    await world.stop()
    await facilitator?.stop()
    node.stop()
  }
}

interface Outcome {
  /** Undefined if it was not served in time. */
  readonly servedMs: number | undefined
  readonly pending: number
  readonly others: readonly (number | 'cut')[]
}

type PaidCall = (untilMs: number) => Promise<Outcome>

/** Wallets with money at addresses of their own, whose free call is used up. */
async function preparePayers(world: X402World): Promise<readonly PaidCall[]> {
  const calls: PaidCall[] = []
  for (const part of chunks([...Array(payers).keys()], AT_ONCE))
    calls.push(...(await Promise.all(part.map((n) => preparePayer(world, n)))))
  return calls
}

async function preparePayer({ base, origin }: X402World, n: number): Promise<PaidCall> {
  const account = await newPayer(base, 100_000n)
  const from = { 'X-Forwarded-For': `10.0.${Math.floor(n / 250)}.${n % 250}` }
  const get = async (headers: object) => {
    const answer = await fetch(`${origin}${PATH}`, { headers: { ...from, ...headers } })
    await answer.arrayBuffer()
    return answer
  }
  assert.equal((await get({})).status, 200, 'the free call')
  const { header } = await signPayment(account, { maxTimeoutSeconds: 3_000 })
  return async (untilMs) => {
    const startMs = performance.now()
    const others: (number | 'cut')[] = []
    let pending = 0
    while (performance.now() < untilMs) {
      // A connection that is cut is no answer: the same payment is sent again.
      const answer = await get({ 'PAYMENT-SIGNATURE': header }).catch(() => undefined)
      const status = answer?.status ?? 'cut'
      if (status === 200) return { servedMs: performance.now() - startMs, pending, others }
      if (status === 503) pending += 1
      else others.push(status)
      await sleep(Number(answer?.headers.get('retry-after') ?? 1) * 1_000)
    }
    return { servedMs: undefined, pending, others }
  }
}

function print(
  kind: string,
  outcomes: readonly Outcome[],
  { tookMs, asked }: { readonly tookMs: number; readonly asked: number },
): void {
  const served = outcomes.flatMap(({ servedMs }) => servedMs ?? []).sort((a, b) => a - b)
  const at = (part: number) =>
    `${((served[Math.floor(part * (served.length - 1))] ?? 0) / 1_000).toFixed(1)} s`
  console.table({
    'settled by': kind,
    payers,
    served: served.length,
    'payments a minute': Math.round(served.length / (tookMs / 60_000)),
    ...{ p50: at(0.5), p99: at(0.99) },
    'answers 503': outcomes.reduce((sum, { pending }) => sum + pending, 0),
    'other answers': JSON.stringify(
      Object.fromEntries(
        [
          ...Map.groupBy(
            outcomes.flatMap(({ others }) => others),
            String,
          ),
        ].map(([status, all]) => [status, all.length]),
      ),
    ),
    'node calls per payment': (asked / Math.max(1, served.length)).toFixed(1),
  })
}
