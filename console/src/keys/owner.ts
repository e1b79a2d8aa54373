import { type GetKeyMessageInput, getKeyMessage } from 'sexton-client'
import { keyless } from '../state/session.ts'
import { signText, type Wallet } from './wallet.ts'

export interface Proof {
  readonly ownerAddress: string
  readonly signature: string
  readonly message: string
}

/** Asks the service for the exact text of an action and the wallet to sign it; good once. */
export async function prove(
  wallet: Wallet,
  action: NonNullable<GetKeyMessageInput['action']>,
  more: { readonly publicId?: string; readonly toPublicId?: string } = {},
): Promise<Proof> {
  const { address } = wallet
  const { data } = await getKeyMessage(keyless, { address, action, ...more })
  return {
    ownerAddress: address,
    message: data.message,
    signature: await signText(wallet, data.message),
  }
}

/** How a GET carries the proof, which has no body. */
export function toHeaders({ ownerAddress, signature, message }: Proof) {
  const encoded = btoa(message).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
  return {
    'X-Wallet-Address': ownerAddress,
    'X-Wallet-Signature': signature,
    'X-Wallet-Message': encoded,
  }
}
