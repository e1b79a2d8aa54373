import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'

/** What a page's script could read of an answer. */
export interface PageAnswer {
  readonly status: number
  readonly text: string
  readonly headers: Readonly<Record<string, string>>
}

export interface PageCall {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** Pays with it where an answer is 402. */
  readonly privateKey?: `0x${string}`
}

/** Runs in a browser: calls the API as a page does, with the stock client where it is to pay. */
async function call({ url, headers = {}, privateKey }: PageCall): Promise<PageAnswer> {
  const answer = await fetchFor(privateKey)(url, { headers })
  return {
    status: answer.status,
    text: await answer.text(),
    headers: Object.fromEntries(answer.headers),
  }
}

function fetchFor(privateKey: `0x${string}` | undefined): typeof fetch {
  if (privateKey === undefined) return fetch
  const scheme = new ExactEvmScheme(privateKeyToAccount(privateKey))
  const client = new x402Client().register('eip155:8453', scheme)
  return wrapFetchWithPayment(fetch, client) as typeof fetch
}

Object.assign(globalThis, { call })
