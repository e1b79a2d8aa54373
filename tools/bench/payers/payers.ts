import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { chunks } from '#base/async.ts'
import { type ChainClient, openChainClient } from '#devnet/chain-client.ts'
import { signPayment } from '#test/x402/raw-payment.ts'
import { newPayer } from '#test/x402/x402-world.ts'

export interface PayersInput {
  readonly origin: string
  readonly chain: Omit<ChainClient, 'rpc'>
  readonly payers: number
  /** Payers who are not served by then give up. */
  readonly minutes: number
}

export interface Outcome {
  /** Undefined if it was not served in time. */
  readonly servedMs: number | undefined
  readonly pending: number
  /** Other statuses, and codes of connections that were cut. */
  readonly others: readonly string[]
}

type PaidCall = (untilMs: number) => Promise<Outcome>

const AT_ONCE = 50
const PATH = '/api/burns/total'

const { origin, chain, payers, minutes }: PayersInput = workerData
const base = openChainClient(chain)

/** Wallets with money at addresses of their own, whose free call is used up; they all pay when told to. */
const calls: PaidCall[] = []
for (const part of chunks([...Array(payers).keys()], AT_ONCE))
  calls.push(...(await Promise.all(part.map(preparePayer))))
parentPort?.once('message', async () => {
  const untilMs = performance.now() + minutes * 60_000
  parentPort?.postMessage(await Promise.all(calls.map((call) => call(untilMs))))
})
parentPort?.postMessage('ready')

async function preparePayer(n: number): Promise<PaidCall> {
  const account = await newPayer(base, 100_000n)
  const from = { 'X-Forwarded-For': `10.0.${Math.floor(n / 250)}.${n % 250}` }
  const get = async (headers: object) => {
    const answer = await fetch(`${origin}${PATH}`, { headers: { ...from, ...headers } })
    await answer.arrayBuffer()
    return answer
  }
  assert.equal((await get({})).status, 200, 'the free call')
  const sign = () => signPayment(account, { maxTimeoutSeconds: 3_000 })
  let { header } = await sign()
  return async (untilMs) => {
    const startMs = performance.now()
    const others: string[] = []
    let pending = 0
    while (performance.now() < untilMs) {
      const answer = await get({ 'PAYMENT-SIGNATURE': header }).catch(codeOf)
      const isCut = typeof answer === 'string'
      if (!isCut && answer.status === 200)
        return { servedMs: performance.now() - startMs, pending, others }
      if (!isCut && answer.status === 503) pending += 1
      else others.push(isCut ? answer : String(answer.status))
      // As clients do: a 402 asks for a new payment; a cut connection is no answer, so the same is sent again.
      if (!isCut && answer.status === 402) header = (await sign()).header
      await sleep(Number((isCut ? null : answer.headers.get('retry-after')) ?? 1) * 1_000)
    }
    return { servedMs: undefined, pending, others }
  }
}

function codeOf(error: unknown): string {
  const { cause } = error as { cause?: { code?: string; message?: string } }
  return cause?.code ?? cause?.message ?? String(error)
}
