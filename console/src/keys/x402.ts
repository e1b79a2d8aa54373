import { getTopup, PaymentRequiredError, SextonError, type Topup } from 'sexton-client'
import { keep, kept } from '../parts/kept.ts'
import { keyless } from '../state/session.ts'
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
    await getTopup(keyless, { usd, ...(key !== undefined && { key }) })
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

const NAME = 'sexton-authorization'

/** A signed payment; it can pay nobody but the operator, and only once. */
export interface Authorization {
  readonly publicId: string
  /** As chosen. */
  readonly usd: string
  /** Of PAYMENT-SIGNATURE. */
  readonly header: string
  readonly validBeforeUnix: number
}

/** For browsers that keep nothing. */
let held: Authorization | undefined

/** The payment whose outcome is not known yet; until then nothing new is signed. */
export function unsettled(): Authorization | undefined {
  const known = readKept() ?? held
  if (known !== undefined && known.validBeforeUnix + SKEW_SECONDS > Date.now() / 1000) return known
  forget()
  return undefined
}

function readKept(): Authorization | undefined {
  try {
    const known = JSON.parse(kept(NAME) ?? '{}') as Partial<Authorization> | null
    const texts = [known?.publicId, known?.usd, known?.header]
    const isWhole =
      typeof known?.validBeforeUnix === 'number' && texts.every((text) => typeof text === 'string')
    return isWhole ? (known as Authorization) : undefined
  } catch {
    return undefined
  }
}

function forget(): void {
  held = undefined
  keep(NAME, undefined)
}

/** The payment went through, was refused, or was made before: 200, 402 and 409 say which. */
const KNOWN_OUTCOMES = [402, 409]

/** Lets the operator send the authorization (x402, scheme `exact`); safe to repeat. */
export async function settle({ publicId: key, usd, header }: Authorization): Promise<Topup> {
  const headers = { 'PAYMENT-SIGNATURE': header }
  for (let asked = 1; ; asked += 1) {
    try {
      const { data } = await getTopup(keyless, { usd, key }, { headers })
      forget()
      return data
    } catch (error) {
      if (error instanceof SextonError && KNOWN_OUTCOMES.includes(error.status)) forget()
      const isPending = error instanceof SextonError && error.code === 'settlement_pending'
      if (!isPending || asked >= ASKS_MAX) throw error
      await new Promise((resolve) => setTimeout(resolve, (error.retryAfterSeconds ?? 2) * 1_000))
    }
  }
}

/** Signs an EIP-3009 authorization for the amount and keeps it until its outcome is known. */
export async function signPayment(
  wallet: Wallet,
  input: { readonly usd: string; readonly amount: bigint; readonly publicId: string },
): Promise<Authorization> {
  const { usd, publicId } = input
  const accepted = await readOffer(usd, publicId)
  if (accepted === undefined || BigInt(accepted.amount) !== input.amount)
    throw new Error('the operator offers no payment of this amount')
  const chainId = Number(accepted.network.slice('eip155:'.length))
  const authorization = authorizationOf(wallet.address, accepted)
  const signature = await signTyped(wallet, typedData(accepted, chainId, authorization))
  const payload = { signature, authorization }
  held = {
    publicId,
    usd,
    header: btoa(JSON.stringify({ x402Version: 2, accepted, payload })),
    validBeforeUnix: Number(authorization.validBefore),
  }
  keep(NAME, JSON.stringify(held))
  return held
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
