import type { FacilitatorEvmSigner } from '@x402/evm'
import { concatHex, decodeFunctionResult, encodeFunctionData } from 'viem'
import { type Address, parseAddress } from '#domain/address.ts'
import type { SettlingRpc } from '../settling/settling-rpc.ts'
import { TRANSFER_GAS } from './gas-price.ts'
import type { SettlingWallet } from './settling-wallet.ts'

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
