import type { Call } from '#route.ts'

/** A GET of nobody in particular. */
export function testCall(given: Partial<Call> = {}): Call {
  return {
    requestId: 'r',
    method: 'GET',
    headers: {},
    addressBucket: '192.0.2.1',
    path: {},
    query: new Map(),
    target: '/',
    body: undefined,
    signal: new AbortController().signal,
    isCut: () => false,
    ...given,
  }
}
