import { authorizationTypes } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { encodeFunctionData, type Hex, type PrivateKeyAccount, parseAbi, toHex } from 'viem'
import { accounts } from '#devnet/addresses.ts'
import { sendTransaction } from '#devnet/chain-client.ts'
import { READY_MS } from '#payments/x402/settling.ts'
import { eventually } from '../world.ts'
import { untilOffered, untilSealed, type X402World } from './x402-world.ts'

/** What we offer on the local chain; a test changes parts of it. */
export const OFFER = {
  scheme: 'exact',
  network: 'eip155:8453',
  amount: '100000',
  asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  payTo: accounts.payTo,
  maxTimeoutSeconds: 300,
  extra: { name: 'USD Coin', version: '2', paymentFlow: 'upfront' },
} as const

interface Changes {
  readonly amount?: string
  readonly network?: `${string}:${string}`
  readonly asset?: string
  readonly payTo?: string
  readonly maxTimeoutSeconds?: number
  readonly extra?: Readonly<Record<string, string>>
}

export interface Signed {
  readonly signature: Hex
  readonly authorization: {
    readonly from: Hex
    readonly to: Hex
    readonly value: string
    readonly validAfter: string
    readonly validBefore: string
    readonly nonce: Hex
  }
}

/** A payment as the stock scheme signs it, and the header that carries it. */
export async function signPayment(
  account: ConstructorParameters<typeof ExactEvmScheme>[0],
  changes: Changes = {},
) {
  const accepted = { ...OFFER, ...changes }
  const { payload } = await new ExactEvmScheme(account).createPaymentPayload(2, accepted)
  return { signed: payload as unknown as Signed, header: toHeader({ accepted, payload }) }
}

/** A payment by a wallet's key, with any times, and with an offer as a client may write it. */
export async function signAt(
  account: PrivateKeyAccount,
  validAfter: number,
  accepted: object = OFFER,
): Promise<string> {
  const nonce = toHex(crypto.getRandomValues(new Uint8Array(32)))
  const authorization = {
    ...{ from: account.address, to: accounts.payTo, value: OFFER.amount, nonce },
    ...{ validAfter: String(validAfter), validBefore: String(validAfter + 300) },
  }
  const signature = await account.signTypedData({
    domain: { name: 'USD Coin', version: '2', chainId: 8453, verifyingContract: OFFER.asset },
    types: authorizationTypes,
    primaryType: 'TransferWithAuthorization',
    message: {
      ...authorization,
      value: BigInt(authorization.value),
      validAfter: BigInt(validAfter),
      validBefore: BigInt(authorization.validBefore),
    },
  })
  return toHeader({ accepted, payload: { authorization, signature } })
}

export function toHeader(payment: object): string {
  return Buffer.from(JSON.stringify({ x402Version: 2, ...payment })).toString('base64')
}

const abi = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
  'function cancelAuthorization(address authorizer, bytes32 nonce, bytes signature)',
])

/** Somebody who saw the signature sends it first; its transaction is sealed. */
export async function sendFirst(
  { base }: X402World,
  { authorization, signature }: Signed,
): Promise<Hex> {
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const [amount, after, before] = [value, validAfter, validBefore].map(BigInt)
  const args = [from, to, amount ?? 0n, after ?? 0n, before ?? 0n, nonce, signature] as const
  const data = encodeFunctionData({ abi, functionName: 'transferWithAuthorization', args })
  const call = { from: accounts.operator, to: base.addresses.usdc, data }
  return untilSealed(base, await sendTransaction(base, call))
}

/** The payer withdraws an authorization (EIP-3009). */
export async function cancel(
  world: X402World,
  account: PrivateKeyAccount,
  signed: Signed,
): Promise<Hex> {
  const call = await cancelCall(world, account, signed)
  return untilSealed(world.base, await sendTransaction(world.base, call))
}

/** The call by which a payer withdraws an authorization. */
export async function cancelCall(
  { base }: X402World,
  account: PrivateKeyAccount,
  { authorization }: Signed,
) {
  const { nonce } = authorization
  const signature = await account.signTypedData({
    domain: { name: 'USD Coin', version: '2', chainId: 8453, verifyingContract: OFFER.asset },
    types: {
      CancelAuthorization: [
        { name: 'authorizer', type: 'address' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'CancelAuthorization',
    message: { authorizer: account.address, nonce },
  })
  const args = [account.address, nonce, signature] as const
  const data = encodeFunctionData({ abi, functionName: 'cancelAuthorization', args })
  return { from: accounts.operator, to: base.addresses.usdc, data }
}

export interface Visitor {
  /** Headers by which the service takes a call for one from the visitor's address. */
  readonly from: Readonly<Record<string, string>>
  get(path: string, payment?: string): Promise<Seen>
  usage(): Promise<{ readonly prepaidBalanceUsd: number; readonly overageCount: number }>
}

export interface Seen {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test reads members that the document has checked.
  readonly body: any
  readonly text: string
}

/** Longer than anything here takes on a machine that is busy with much else. */
const HANG_MS = 50_000

/** Some seconds: the first jump may come before the service has noticed. */
const LOOKS_UNTIL_NEXT = 60

/** Waits until a caller's balance (US dollars) is what it should become. */
export async function untilBalance(
  visitor: Pick<Visitor, 'usage'>,
  balance: number,
): Promise<void> {
  await eventually(
    async () => ((await visitor.usage()).prepaidBalanceUsd === balance ? true : undefined),
    HANG_MS,
  )
}

/**
 * A payment that the chain does not show is settled again after 30 seconds: the clock jumps. By as much at once as an
 * offer holds, so that one published before is over and one published after lasts.
 */
export async function untilSettledAgain(
  { api, now }: Pick<X402World, 'api' | 'now'>,
  visitor: Pick<Visitor, 'usage'>,
  balance: number,
): Promise<void> {
  let looks = 0
  await eventually(async () => {
    if ((await visitor.usage()).prepaidBalanceUsd === balance) return true
    if (looks === 0 || looks === LOOKS_UNTIL_NEXT) now.ms += READY_MS + 1_000
    looks += 1
    return undefined
  }, HANG_MS)
  await untilOffered({ api })
}

/** Waits until so many transactions of the settling wallet wait for a block. */
export async function untilSent({ base }: X402World, waiting: number): Promise<void> {
  const count = async (block: string) =>
    Number(
      await base.rpc.send({
        method: 'eth_getTransactionCount',
        params: [accounts.relayer, block],
      }),
    )
  await eventually(
    async () => ((await count('pending')) - (await count('latest')) >= waiting ? true : undefined),
    HANG_MS,
  )
}

let visitors = 0

/** A caller without a key at an address of its own, whose only free call is used up. */
export async function newVisitor({ api }: X402World): Promise<Visitor> {
  visitors += 1
  const from = { 'X-Forwarded-For': `198.51.${Math.floor(visitors / 250)}.${(visitors % 250) + 1}` }
  await api.get('/api/stats', from)
  return {
    from,
    get: (path, payment) =>
      api.get(path, {
        ...from,
        ...(payment !== undefined && { 'PAYMENT-SIGNATURE': payment }),
      }),
    usage: async () => (await api.get('/api/usage', from)).body,
  }
}
