import { encodeFunctionData, parseAbi, parseSignature } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import type { Address, Hash } from '#base/address.ts'
import { type Clock, unixNow } from '#base/time.ts'
import { NodeRefusal } from '#chain/node-refusal.ts'
import type { Payment } from '#ecosystem/ecosystem.ts'
import { hashAuthorization } from './payload.ts'
import { openSettlingRpc, type SettlingRpc } from './settling-rpc.ts'

/** A kind of wallet, and why the asset refuses its payments; undefined if it accepts them. */
interface Way {
  readonly by: string
  readonly refusal: string | undefined
}

/** The `bytes` form also accepts contract wallets (USDC 2.2); OpenZeppelin's ERC3009 has the other. */
const abi = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
])

/** Bytecode of a contract whose `isValidSignature` accepts everything. */
const AGREEING_WALLET: Hash = '0x631626ba7e60e01b60005260206000f3'

interface Asked {
  readonly rpc: Pick<SettlingRpc, 'call'>
  readonly payment: Payment
  readonly clock: Clock
}

/** Simulates a zero transfer from a new wallet in each form that the asset may have. */
export async function provePayingWays({ rpc, payment, clock }: Asked): Promise<readonly Way[]> {
  const account = privateKeyToAccount(generatePrivateKey())
  const from = account.address.toLowerCase() as Address
  const to = payment.payTo.at(-1)?.address ?? from
  const validBefore = BigInt(unixNow(clock) + 3_600)
  const nonce = generatePrivateKey()
  const authorization = { from, to, value: 0n, validAfter: 0n, validBefore, nonce }
  const signature = await account.sign({ hash: hashAuthorization(payment, authorization) })
  const { r, s, yParity } = parseSignature(signature)
  const common = [from, to, 0n, 0n, validBefore, nonce] as const
  const functionName = 'transferWithAuthorization'
  const asParts = encodeFunctionData({ abi, functionName, args: [...common, yParity + 27, r, s] })
  const asBytes = encodeFunctionData({ abi, functionName, args: [...common, signature] })
  const attempts = [
    { by: 'keys, as (v, r, s)', data: asParts },
    { by: 'keys, as bytes', data: asBytes },
    { by: 'contract wallets', data: asBytes, codes: { [from]: AGREEING_WALLET } as const },
  ]
  return Promise.all(
    attempts.map(async ({ by, data, codes }) => {
      try {
        await rpc.call({ to: payment.asset, data, ...(codes !== undefined && { codes }) })
        return { by, refusal: undefined }
      } catch (error) {
        if (error instanceof NodeRefusal) return { by, refusal: error.message }
        throw error
      }
    }),
  )
}

/** Returns what an operator must know about wallets that cannot pay by x402; empty if all can. */
export async function proveWaysToPay(payment: Payment, clock: Clock): Promise<readonly string[]> {
  const ways = await provePayingWays({ rpc: openSettlingRpc(payment.chain), payment, clock })
  const left = ways.filter(({ refusal }) => refusal === undefined).map(({ by }) => by)
  const others = left.join('; ') || 'none, so that x402 is not offered'
  return ways
    .filter(({ refusal }) => refusal !== undefined)
    .map(
      ({ by, refusal }) =>
        `x402 payments by ${by} fail in a simulation (${refusal}); payments that remain: ${others}`,
    )
}
