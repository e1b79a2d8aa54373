import { concatHex, getCreateAddress, type Hex, type PrivateKeyAccount } from 'viem'
import { accounts } from '#devnet/addresses.ts'
import { sendTransaction } from '#devnet/chain-client.ts'
import { creationOf } from '../deployed-ecosystem.ts'
import { untilSealed, type X402World } from './x402-world.ts'

/** The signer that the library's client takes. */
export interface WalletSigner {
  readonly address: Hex
  signTypedData(message: object): Promise<Hex>
  signMessage(message: string): Promise<Hex>
}

/** A wallet that is a contract of `contracts/src`, and its owner's signatures in its own format. */
export async function deployWallet(
  { base }: X402World,
  owner: PrivateKeyAccount,
): Promise<WalletSigner> {
  const data = creationOf('ContractWallet', 'address', [owner.address])
  const hash = await untilSealed(
    base,
    await sendTransaction(base, { from: accounts.operator, data }),
  )
  const receipt = await base.rpc.send({ method: 'eth_getTransactionReceipt', params: [hash] })
  const { contractAddress } = receipt as { readonly contractAddress: Hex }
  return walletAt(contractAddress, owner)
}

/** The same at an address where no contract is. */
export function undeployedWallet(owner: PrivateKeyAccount): WalletSigner {
  return walletAt(getCreateAddress({ from: owner.address, nonce: 0n }), owner)
}

function walletAt(address: Hex, owner: PrivateKeyAccount): WalletSigner {
  return {
    address,
    async signTypedData(message) {
      const signed = await owner.signTypedData(
        message as Parameters<PrivateKeyAccount['signTypedData']>[0],
      )
      return concatHex(['0x01', signed])
    },
    signMessage: async (message) => concatHex(['0x01', await owner.signMessage({ message })]),
  }
}
