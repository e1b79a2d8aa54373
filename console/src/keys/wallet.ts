import type { Chain } from 'sexton-client'
import { texts } from '../texts.ts'

/** What a wallet is to this page: EIP-1193, announced by EIP-6963. */
export interface Provider {
  request(call: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>
  on?(event: string, listener: (value: unknown) => void): void
  removeListener?(event: string, listener: (value: unknown) => void): void
}

export interface Announced {
  readonly uuid: string
  readonly name: string
  readonly provider: Provider
}

export interface Wallet {
  readonly name: string
  readonly provider: Provider
  readonly address: string
}

/**
 * Asks the browser's wallets to announce themselves, and calls for each one once. They answer at once; a wallet that
 * does not know of this is found where older ones put themselves.
 */
export function discoverWallets(found: (wallet: Announced) => void): () => void {
  const known = new Set<unknown>()
  const add = (wallet: Announced) => {
    if (known.has(wallet.uuid) || known.has(wallet.provider)) return
    known.add(wallet.uuid).add(wallet.provider)
    found(wallet)
  }
  const listener = (event: Event) => {
    const { info, provider } = (event as CustomEvent).detail ?? {}
    if (typeof info?.uuid === 'string' && provider !== undefined)
      add({ uuid: info.uuid, name: String(info.name), provider })
  }
  window.addEventListener('eip6963:announceProvider', listener)
  window.dispatchEvent(new Event('eip6963:requestProvider'))
  const { ethereum } = window as { readonly ethereum?: Provider }
  if (known.size === 0 && ethereum !== undefined)
    add({ uuid: 'injected', name: texts.keys.injected, provider: ethereum })
  return () => window.removeEventListener('eip6963:announceProvider', listener)
}

export type WalletFault = 'rejected' | 'locked' | 'late' | 'other'

/** What a wallet refused; EIP-1193 and EIP-1474 give the codes. */
export class WalletError extends Error {
  readonly fault: WalletFault
  readonly rpcCode: number | undefined

  constructor(cause: unknown, fault?: WalletFault) {
    const { code, message } = (cause ?? {}) as {
      readonly code?: unknown
      readonly message?: unknown
    }
    super(typeof message === 'string' ? message : 'the wallet gave no reason', { cause })
    this.rpcCode = typeof code === 'number' ? code : undefined
    this.fault = fault ?? faultOf(code)
  }
}

function faultOf(code: unknown): WalletFault {
  if (code === 4001) return 'rejected'
  return code === -32_002 || code === 4100 ? 'locked' : 'other'
}

export async function connect({ name, provider }: Announced): Promise<Wallet> {
  const address = firstAccount(await ask(provider, 'eth_requestAccounts'))
  if (address === undefined) throw new WalletError(undefined, 'locked')
  return { name, provider, address }
}

/** Some wallets share null instead of an empty list. */
export function firstAccount(accounts: unknown): string | undefined {
  const first: unknown = Array.isArray(accounts) ? accounts[0] : undefined
  return typeof first === 'string' ? first : undefined
}

/** EIP-191 `personal_sign`, the text as hex of its UTF-8. */
export async function signText({ provider, address }: Wallet, text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text)
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return String(await ask(provider, 'personal_sign', [`0x${hex}`, address]))
}

/** EIP-712, `eth_signTypedData_v4`. */
export async function signTyped({ provider, address }: Wallet, data: object): Promise<string> {
  return String(await ask(provider, 'eth_signTypedData_v4', [address, JSON.stringify(data)]))
}

/** An account that only delegates to code (EIP-7702) still signs for itself. */
export async function isContract({ provider, address }: Wallet): Promise<boolean> {
  const code = String(await ask(provider, 'eth_getCode', [address, 'latest']))
  return code !== '0x' && !code.startsWith('0xef0100')
}

export async function chainIdOf({ provider }: Wallet): Promise<number> {
  return Number(await ask(provider, 'eth_chainId'))
}

/** A wallet that does not know a chain needs a public endpoint of it. */
const PUBLIC_RPC: Readonly<Record<number, string>> = {
  10: 'https://mainnet.optimism.io',
  8453: 'https://mainnet.base.org',
  42161: 'https://arb1.arbitrum.io/rpc',
  84532: 'https://sepolia.base.org',
}

const UNKNOWN_CHAIN = 4902

/** Switches to a chain (EIP-3326), and has it added where the wallet does not know it (EIP-3085). */
export async function switchChain(
  { provider }: Wallet,
  { chainId, name, explorerUrl }: Chain,
): Promise<void> {
  const id = `0x${chainId.toString(16)}`
  const change = () => ask(provider, 'wallet_switchEthereumChain', [{ chainId: id }])
  try {
    await change()
  } catch (error) {
    const rpcUrl = PUBLIC_RPC[chainId]
    if (!(error instanceof WalletError) || error.rpcCode !== UNKNOWN_CHAIN) throw error
    if (rpcUrl === undefined)
      throw new WalletError({ message: texts.walletErrors.addChain(name, chainId) })
    const added = {
      chainId: id,
      chainName: name,
      rpcUrls: [rpcUrl],
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
      ...(explorerUrl !== null && { blockExplorerUrls: [explorerUrl] }),
    }
    await ask(provider, 'wallet_addEthereumChain', [added])
    await change()
  }
}

/** A person reads and decides first; all else is answered by a node. */
const BY_PERSON = /^(eth_requestAccounts|eth_sendTransaction|.*sign.*|wallet_.*)$/i
const PERSON_MS = 120_000
const NODE_MS = 20_000

export async function ask(
  provider: Provider,
  method: string,
  params: readonly unknown[] = [],
): Promise<unknown> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const limitMs = BY_PERSON.test(method) ? PERSON_MS : NODE_MS
  const timer = setTimeout(() => reject(new WalletError(undefined, 'late')), limitMs)
  try {
    return await Promise.race([provider.request({ method, params }), late])
  } catch (error) {
    throw error instanceof WalletError ? error : new WalletError(error)
  } finally {
    clearTimeout(timer)
  }
}
