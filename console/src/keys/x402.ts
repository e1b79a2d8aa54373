import { getTopup, PaymentRequiredError, SextonError, type Topup } from 'sexton-client'
import { sexton } from '../state/session.ts'
import { signTyped, type Wallet } from './wallet.ts'

/** One option of an x402 v2 offer, as in the header PAYMENT-REQUIRED. */
interface Offer {
  readonly network: string
  readonly amount: string
  readonly asset: string
  readonly payTo: string
  readonly maxTimeoutSeconds: number
  readonly extra: { readonly name: string; readonly version: string }
}

/** Whether the operator settles authorizations; an unpaid request says so. */
export async function isSettling(): Promise<boolean> {
  return (await readOffer('1')) !== undefined
}

async function readOffer(usd: string, key?: string): Promise<Offer | undefined> {
  try {
    await getTopup(sexton(), { usd, ...(key !== undefined && { key }) })
  } catch (error) {
    if (error instanceof PaymentRequiredError && error.paymentRequired !== undefined)
      return JSON.parse(atob(error.paymentRequired)).accepts[0]
    if (!(error instanceof SextonError && error.status === 404)) throw error
  }
  return undefined
}

/** Clocks of a wallet and a chain differ by minutes. */
const SKEW_SECONDS = 600

/** The outcome of a payment may be unknown for a while; asking again with the same one is safe. */
const ASKS_MAX = 10

/** A signed payment whose outcome is not known; it is sent again, never signed anew. */
let unsettled: { readonly key: string; readonly usd: string; readonly header: string } | undefined

/** Signs an EIP-3009 authorization for the amount and lets the operator send it (x402, scheme `exact`). */
export async function payByAuthorization(
  wallet: Wallet,
  input: { readonly usd: string; readonly amount: bigint; readonly publicId: string },
): Promise<Topup> {
  const { usd, publicId: key } = input
  if (unsettled?.key !== key || unsettled.usd !== usd)
    unsettled = { key, usd, header: await signPayment(wallet, input) }
  const headers = { 'PAYMENT-SIGNATURE': unsettled.header }
  for (let asked = 1; ; asked += 1) {
    try {
      const { data } = await getTopup(sexton(), { usd, key }, { headers })
      unsettled = undefined
      return data
    } catch (error) {
      // Only a refusal with a known outcome frees the person to sign another one.
      if (error instanceof SextonError && error.status < 500 && error.status !== 429)
        unsettled = undefined
      const isPending = error instanceof SextonError && error.code === 'settlement_pending'
      if (!isPending || asked >= ASKS_MAX) throw error
      await new Promise((resolve) => setTimeout(resolve, (error.retryAfterSeconds ?? 2) * 1_000))
    }
  }
}

async function signPayment(
  wallet: Wallet,
  input: { readonly usd: string; readonly amount: bigint; readonly publicId: string },
): Promise<string> {
  const accepted = await readOffer(input.usd, input.publicId)
  if (accepted === undefined || BigInt(accepted.amount) !== input.amount)
    throw new Error('the operator offers no payment of this amount')
  const chainId = Number(accepted.network.slice('eip155:'.length))
  const authorization = authorizationOf(wallet.address, accepted)
  const signature = await signTyped(wallet, typedData(accepted, chainId, authorization))
  return btoa(JSON.stringify({ x402Version: 2, accepted, payload: { signature, authorization } }))
}

function authorizationOf(from: string, { payTo, amount, maxTimeoutSeconds }: Offer) {
  const nowUnix = Math.floor(Date.now() / 1000)
  const nonce = crypto.getRandomValues(new Uint8Array(32))
  return {
    from,
    to: payTo,
    value: amount,
    validAfter: String(nowUnix - SKEW_SECONDS),
    validBefore: String(nowUnix + maxTimeoutSeconds),
    nonce: `0x${Array.from(nonce, (byte) => byte.toString(16).padStart(2, '0')).join('')}`,
  }
}

function typedData({ asset, extra }: Offer, chainId: number, message: object) {
  const field = (name: string, type: string) => ({ name, type })
  return {
    domain: { name: extra.name, version: extra.version, chainId, verifyingContract: asset },
    primaryType: 'TransferWithAuthorization',
    types: {
      EIP712Domain: [
        field('name', 'string'),
        field('version', 'string'),
        field('chainId', 'uint256'),
        field('verifyingContract', 'address'),
      ],
      TransferWithAuthorization: [
        field('from', 'address'),
        field('to', 'address'),
        field('value', 'uint256'),
        field('validAfter', 'uint256'),
        field('validBefore', 'uint256'),
        field('nonce', 'bytes32'),
      ],
    },
    message,
  }
}
