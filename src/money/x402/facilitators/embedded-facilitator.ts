import { x402Facilitator } from '@x402/core/facilitator'
import { privateKeyToAccount } from 'viem/accounts'
import type { Payment } from '#chains/ecosystem/ecosystem.ts'
import type { MicroUsd } from '#domain/money.ts'
import type { Clock } from '#lib/time.ts'
import type { Engine } from '#store/engine.ts'
import { networkOf } from '../offers/offer.ts'
import { SCHEMES } from '../schemes/schemes.ts'
import type { SettlingRpc } from '../settling/settling-rpc.ts'
import { createAvailability } from './availability.ts'
import { evmSigner } from './evm-signer.ts'
import type { Facilitator } from './facilitator.ts'
import { SettlingWallet } from './settling-wallet.ts'

export interface EmbeddedDeps {
  /** The leader's. */
  readonly engine: Engine
  readonly clock: Clock
  readonly rpc: SettlingRpc
  readonly payment: Payment
  readonly privateKey: `0x${string}`
  readonly gasPerDayGwei: bigint
  readonly etherUsd: number
  readonly amounts: readonly MicroUsd[]
  report(error: unknown): void
}

/** Runs the library's facilitator in this process, with the operator's wallet. */
export async function embeddedFacilitator(deps: EmbeddedDeps): Promise<Facilitator> {
  const { rpc, payment } = deps
  const account = privateKeyToAccount(deps.privateKey)
  const { asset } = payment
  const wallet = new SettlingWallet({ ...deps, account, chainId: payment.chain.id, asset })
  const recipients = payment.payTo.map((each) => each.address)
  const signer = evmSigner({ rpc, wallet, asset, recipients })
  const client = new x402Facilitator()
  for (const scheme of SCHEMES) client.register(networkOf(payment.chain.id), scheme.embed(signer))
  const isAvailable = createAvailability({ ...deps, wallet: wallet.address })
  return { client, wallet: wallet.address, isReady: isAvailable }
}
