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

/** Asks the browser's wallets to announce themselves, and calls for each one once. */
export function discoverWallets(found: (wallet: Announced) => void): () => void {
  const known = new Set<string>()
  const listener = (event: Event) => {
    const { info, provider } = (event as CustomEvent).detail ?? {}
    if (typeof info?.uuid !== 'string' || provider === undefined || known.has(info.uuid)) return
    known.add(info.uuid)
    found({ uuid: info.uuid, name: String(info.name), provider })
  }
  window.addEventListener('eip6963:announceProvider', listener)
  window.dispatchEvent(new Event('eip6963:requestProvider'))
  return () => window.removeEventListener('eip6963:announceProvider', listener)
}

export type WalletFault = 'rejected' | 'locked' | 'other'

/** What a wallet refused; EIP-1193 and EIP-1474 give the codes. */
export class WalletError extends Error {
  readonly fault: WalletFault
  readonly rpcCode: number | undefined

  constructor(cause: unknown) {
    const { code, message } = (cause ?? {}) as {
      readonly code?: unknown
      readonly message?: unknown
    }
    super(typeof message === 'string' ? message : 'the wallet gave no reason', { cause })
    this.rpcCode = typeof code === 'number' ? code : undefined
    this.fault = code === 4001 ? 'rejected' : code === -32_002 || code === 4100 ? 'locked' : 'other'
  }
}

export async function connect({ name, provider }: Announced): Promise<Wallet> {
  const [address] = (await ask(provider, 'eth_requestAccounts')) as readonly string[]
  if (address === undefined) throw new WalletError({ code: 4100, message: 'the wallet is locked' })
  return { name, provider, address }
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

/** EIP-3326. */
export async function switchChain({ provider }: Wallet, chainId: number): Promise<void> {
  await ask(provider, 'wallet_switchEthereumChain', [{ chainId: `0x${chainId.toString(16)}` }])
}

export async function ask(
  provider: Provider,
  method: string,
  params: readonly unknown[] = [],
): Promise<unknown> {
  try {
    return await provider.request({ method, params })
  } catch (error) {
    throw new WalletError(error)
  }
}
