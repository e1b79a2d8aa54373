import { setTimeout as delay } from 'node:timers/promises'
import { askRoutes } from '#route/ask-routes.ts'
import type { Route } from '#route/route.ts'

/** Short answers make a readable page: two rows show a list as well as twenty. */
const SHORT: Readonly<Record<string, string>> = { limit: '2', period: '2d' }

/** Answers by operation and status, as in the OpenAPI document. */
export type Examples = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** The document must be there while a store hangs. */
const TIMEOUT_MS = 1_000

export interface LiveExamples {
  readonly answers: Examples
  readonly isComplete: boolean
}

/** The service's own answers of now, of those routes that can give one. */
export async function liveExamples(routes: readonly Route[]): Promise<LiveExamples> {
  const stop = new AbortController()
  const late = delay(TIMEOUT_MS, false, { signal: stop.signal, ref: false }).catch(() => false)
  const answers: Record<string, Record<string, unknown>> = {}
  const isComplete = await Promise.race([askAll(routes, answers, stop.signal), late])
  stop.abort()
  return { answers: { ...answers }, isComplete }
}

/** Asks one after the other until it is stopped. */
async function askAll(
  routes: readonly Route[],
  answers: Record<string, Record<string, unknown>>,
  signal: AbortSignal,
): Promise<boolean> {
  const ask = askRoutes(routes)
  const address = await someWallet(ask)
  let isComplete = true
  for (const { operationId, method, metered, open, stream, parameters } of routes) {
    if (method !== 'GET' || stream === true || !(metered || open === true)) continue
    if (signal.aborted) return false
    const names = Object.keys(parameters)
    const query = Object.fromEntries(Object.entries(SHORT).filter(([name]) => names.includes(name)))
    const path = names.includes('address') ? { address } : {}
    try {
      answers[operationId] = { 200: await ask(operationId, query, path) }
    } catch {
      isComplete = false
    }
  }
  return isComplete
}

/** One with claims where there is one; any other is zeros. */
async function someWallet(ask: ReturnType<typeof askRoutes>): Promise<string> {
  const nobody = '0x0000000000000000000000000000000000000001'
  try {
    const { data } = (await ask('listPayouts', { limit: '20' })) as {
      readonly data: readonly { readonly recipient: string | null }[]
    }
    return data.find(({ recipient }) => recipient !== null)?.recipient ?? nobody
  } catch {
    return nobody
  }
}
