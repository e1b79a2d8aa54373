import type { Page } from 'playwright-core'
import { createWalletClient, type Hex, http, type TypedDataDefinition } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { ChainClient } from '#devnet/chain-client.ts'

/** What a test decides about the wallet; changes hold from the next request. */
export interface WalletMood {
  readonly privateKey: Hex
  chainId: number
  /** Methods that the person declines. */
  readonly declined: Set<string>
  /** Whether it knows the chain that is paid on; becomes what was added. */
  known: unknown
  isLocked: boolean
  /** Whether a transaction's hash gets lost on its way to the page. */
  losesHash: boolean
  /** Whether it reports an error for a transaction that it has sent. */
  failsAfterSending: boolean
  /** Transactions sent so far. */
  sentCount: number
}

interface Call {
  readonly method: string
  readonly params?: readonly unknown[]
}

/** A wallet on the right chain that does all it is asked. */
export const willing = (privateKey: Hex): WalletMood => ({
  privateKey,
  chainId: 8453,
  declined: new Set(),
  known: true,
  isLocked: false,
  losesHash: false,
  failsAfterSending: false,
  sentCount: 0,
})

/** Signs with viem, sends to a local chain; announced by EIP-6963, or without a name as `window.ethereum`. */
export async function announceWallet(
  page: Page,
  input: { readonly mood: () => WalletMood; readonly base: ChainClient; readonly name: string },
): Promise<void> {
  const { base, name } = input
  const answer = async ({ method, params = [] }: Call): Promise<unknown> => {
    const mood = input.mood()
    const account = privateKeyToAccount(mood.privateKey)
    if (mood.isLocked) throw refusal(-32_002, 'Request already pending. Please wait.')
    if (mood.declined.has(method)) throw refusal(4001, 'User rejected the request.')
    const [first, second] = params
    if (method === 'eth_requestAccounts') return [account.address]
    if (method === 'eth_chainId') return `0x${mood.chainId.toString(16)}`
    if (method === 'wallet_addEthereumChain') {
      mood.known = first
      return null
    }
    if (method === 'wallet_switchEthereumChain') {
      if (mood.known === false) throw refusal(4902, 'Unrecognized chain ID.')
      mood.chainId = Number((first as { readonly chainId: string }).chainId)
      return null
    }
    if (method === 'personal_sign') return account.signMessage({ message: { raw: first as Hex } })
    if (method === 'eth_signTypedData_v4') return account.signTypedData(typedData(String(second)))
    if (method === 'eth_sendTransaction') {
      const { to, data } = first as { readonly to: Hex; readonly data: Hex }
      const fee = { gasPrice: 0n, gas: 200_000n }
      const sender = createWalletClient({ account, transport: http(base.rpcUrl) })
      const hash = await sender.sendTransaction({ chain: null, to, data, ...fee })
      mood.sentCount += 1
      if (mood.failsAfterSending) throw refusal(-32_603, 'request timed out')
      return mood.losesHash ? new Promise(() => undefined) : hash
    }
    return base.rpc.send({ method, params })
  }
  const asked = `walletRequest${name.replaceAll(/\W/g, '')}`
  await page.exposeFunction(asked, (call: Call) =>
    answer(call).then(
      (result) => ({ result }),
      ({ code, message }) => ({ error: { code, message } }),
    ),
  )
  await page.addInitScript(`${ANNOUNCE}(${JSON.stringify(name)}, '${asked}')`)
}

/** The wallet tells the page which accounts it shows now (EIP-1193). */
export async function changeAccounts(page: Page, accounts: readonly string[]): Promise<void> {
  const detail = JSON.stringify({ detail: accounts })
  await page.evaluate(`window.dispatchEvent(new CustomEvent('wallet accountsChanged', ${detail}))`)
}

function refusal(code: number, message: string): Error {
  return Object.assign(new Error(message), { code })
}

/** viem takes numbers of a uint256 as bigint. */
function typedData(text: string): TypedDataDefinition {
  const { types, domain, primaryType, message } = JSON.parse(text)
  const { EIP712Domain: _, ...own } = types
  return { types: own, domain, primaryType, message }
}

/** Runs in the page, before its own scripts. */
const ANNOUNCE = `((name, asked) => {
  const provider = {
    async request(call) {
      const { result, error } = await window[asked](call)
      if (error) throw Object.assign(new Error(error.message), { code: error.code })
      return result
    },
    on(event, listener) { window.addEventListener('wallet ' + event, listener.heard = ({ detail }) => listener(detail)) },
    removeListener(event, listener) { window.removeEventListener('wallet ' + event, listener.heard) },
  }
  if (name === '') return (window.ethereum = provider)
  const info = { uuid: crypto.randomUUID?.() ?? String(Math.random()), name, icon: 'data:,', rdns: 'test.wallet' }
  const announce = () =>
    window.dispatchEvent(
      new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }),
    )
  window.addEventListener('eip6963:requestProvider', announce)
  announce()
})`
