import { randomBytes } from 'node:crypto'
import { fromPublicKey } from 'ox/Address'
import { createKeyPair, sign } from 'ox/Secp256k1'
import { toHex } from 'ox/Signature'
import { NodeRefusal } from '#chains/chain/node-refusal.ts'
import type { Payment } from '#chains/ecosystem/ecosystem.ts'
import type { Address, Hash } from '#domain/address.ts'
import { type Clock, unixNow } from '#lib/time.ts'
import type { SettlingRpc } from '../../settling-rpc.ts'
import type { Authorization, Way } from '../scheme.ts'
import { digestOf, type TransferForm, transferCall } from './authorization.ts'

/** A contract whose `isValidSignature` accepts everything. */
const AGREEING_WALLET: Hash = '0x631626ba7e60e01b60005260206000f3'

const WAYS: readonly {
  readonly by: string
  readonly form: TransferForm
  readonly isContract: boolean
}[] = [
  { by: 'keys, as (v, r, s)', form: '(v, r, s)', isContract: false },
  { by: 'keys, as bytes', form: 'bytes', isContract: false },
  { by: 'contract wallets', form: 'bytes', isContract: true },
]

/** Simulates a transfer of nothing from a new wallet in each form that the asset may have. */
export async function provePayingWays(deps: {
  readonly rpc: Pick<SettlingRpc, 'call'>
  readonly payment: Payment
  readonly clock: Clock
}): Promise<readonly Way[]> {
  const { rpc, payment } = deps
  const { privateKey, publicKey } = createKeyPair()
  const from = fromPublicKey(publicKey).toLowerCase() as Address
  const authorization: Authorization = {
    from,
    to: payment.payTo.at(-1)?.address ?? from,
    value: 0n,
    validAfter: 0n,
    validBefore: BigInt(unixNow(deps.clock) + 3_600),
    nonce: `0x${randomBytes(32).toString('hex')}` as Hash,
  }
  const { chain, asset, domain } = payment
  const digest = digestOf({ chainId: chain.id, asset, domain }, authorization)
  const signature = toHex(sign({ payload: digest, privateKey }))
  return Promise.all(
    WAYS.map(async ({ by, form, isContract }) => {
      const data = transferCall({ authorization, signature }, form)
      const codes = isContract ? { codes: { [from]: AGREEING_WALLET } as const } : {}
      try {
        await rpc.call({ to: asset, data, ...codes })
        return { by, refusal: undefined }
      } catch (error) {
        if (error instanceof NodeRefusal) return { by, refusal: error.message }
        throw error
      }
    }),
  )
}
