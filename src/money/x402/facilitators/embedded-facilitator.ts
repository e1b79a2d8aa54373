import { x402Facilitator } from '@x402/core/facilitator'
import type { FacilitatorEvmSigner } from '@x402/evm'
import { concatHex, decodeFunctionResult, encodeFunctionData } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Payment } from '#chains/ecosystem/ecosystem.ts'
import { type Address, parseAddress } from '#domain/address.ts'
import type { MicroUsd } from '#domain/money.ts'
import type { Clock } from '#lib/time.ts'
import { TRANSFER_GAS } from '#money/x402/facilitators/gas-price.ts'
import type { Engine } from '#store/engine.ts'
import { networkOf } from '../offers/offer.ts'
import { SCHEMES } from '../schemes/schemes.ts'
import type { SettlingRpc } from '../settling/settling-rpc.ts'
import { createAvailability } from './availability.ts'
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

const WRITES: readonly string[] = ['transferWithAuthorization']

/**
 * Adapts the wallet to the library's facilitator. It sends transfers of the configured asset to the
 * configured recipients, nothing else.
 */
export function evmSigner(deps: {
  readonly rpc: Pick<SettlingRpc, 'call' | 'code'>
  readonly wallet: Pick<SettlingWallet, 'address' | 'send'>
  readonly asset: Address
  readonly recipients: readonly Address[]
}): FacilitatorEvmSigner {
  const { rpc, wallet, asset, recipients } = deps
  return {
    getAddresses: () => [wallet.address],
    async readContract({ address, abi, functionName, args = [] }) {
      const data = encodeFunctionData({ abi, functionName, args })
      const answer = await rpc.call({ from: wallet.address, to: address, data, gas: TRANSFER_GAS })
      return decodeFunctionResult({ abi, functionName, data: answer })
    },
    async writeContract({ address, abi, functionName, args, dataSuffix = '0x' }) {
      const to = parseAddress(String(args[1]))
      if (parseAddress(address) !== asset || !WRITES.includes(functionName))
        throw new Error('a settling wallet only sends transfers of the asset')
      if (to === undefined || !recipients.includes(to))
        throw new Error('a settling wallet pays the configured payTo wallets only')
      const data = encodeFunctionData({ abi, functionName, args })
      return wallet.send(concatHex([data, dataSuffix]))
    },
    /** The library then answers `settlement_pending`; the request that pays waits by itself. */
    async waitForTransactionReceipt({ hash }) {
      throw new Error(`${hash} is sent`)
    },
    getCode: ({ address }) => rpc.code(address),
    sendTransaction: () => refuse(),
    verifyTypedData: () => refuse(),
  }
}

/** Deploying wallets is not offered, and `exact` checks signatures by itself. */
async function refuse(): Promise<never> {
  throw new Error('a settling wallet only sends transfers of the asset')
}
