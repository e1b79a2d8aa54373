import { readFile } from 'node:fs/promises'
import { x402Facilitator } from '@x402/core/facilitator'
import type { FacilitatorEvmSigner } from '@x402/evm'
import { concatHex, decodeFunctionResult, encodeFunctionData } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Payment } from '#chains/ecosystem/ecosystem.ts'
import { ConfigError } from '#config.ts'
import type { Context } from '#context.ts'
import { type Address, parseAddress, parseHash } from '#domain/address.ts'
import type { Facilitator, SettlingSetting } from './facilitator.ts'
import { OFFERS } from './offer.ts'
import { networkOf } from './payload.ts'
import { SCHEMES } from './schemes/schemes.ts'
import type { SettlingRpc } from './settling-rpc.ts'
import { SettlingWallet, TRANSFER_GAS } from './settling-wallet.ts'

/** Runs the library's facilitator in this process, with the operator's wallet. Throws ConfigError without a private key. */
export async function embeddedFacilitator(
  ctx: Context,
  setting: Extract<SettlingSetting, { kind: 'wallet' }>,
  { rpc, payment }: { readonly rpc: SettlingRpc; readonly payment: Payment },
): Promise<Facilitator> {
  const { asset } = payment
  const wallet = new SettlingWallet(ctx, {
    rpc,
    account: privateKeyToAccount(await readKey(setting.keyFile)),
    chainId: payment.chain.id,
    asset,
    gasPerDayGwei: BigInt(setting.gasPerDayGwei),
  })
  const recipients = payment.payTo.map((each) => each.address)
  const signer = evmSigner({ rpc, wallet, asset, recipients })
  const client = new x402Facilitator()
  for (const scheme of SCHEMES) client.register(networkOf(payment.chain.id), scheme.embed(signer))
  const isReady = () => wallet.canPay(OFFERS[0], setting.etherUsd)
  return { client, wallet: wallet.address, isReady }
}

async function readKey(file: string): Promise<`0x${string}`> {
  const name = 'SEXTON_SETTLING_KEY_FILE'
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new ConfigError(`${name}: the file cannot be read`, { cause })
  })
  const privateKey = parseHash(text.trim())
  if (privateKey === undefined)
    throw new ConfigError(`${name}: the file must contain a private key, 0x and 64 hex digits`)
  return privateKey
}

const WRITES: readonly string[] = ['transferWithAuthorization']

/**
 * Adapts the wallet to the library's facilitator. It sends transfers of the configured asset to the
 * configured recipients, nothing else.
 */
export function evmSigner(input: {
  readonly rpc: Pick<SettlingRpc, 'call' | 'code'>
  readonly wallet: Pick<SettlingWallet, 'address' | 'send'>
  readonly asset: Address
  readonly recipients: readonly Address[]
}): FacilitatorEvmSigner {
  const { rpc, wallet, asset, recipients } = input
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
