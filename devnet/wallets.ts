import { type Address, type Hex, toHex } from 'viem'
import { mnemonicToAccount, privateKeyToAddress } from 'viem/accounts'
import type { AccountName } from '#devnet/addresses.ts'

export interface Wallet {
  readonly address: Address
  readonly privateKey: Hex
}

/** Used by anvil and hardhat too: public and worthless. */
export const developmentMnemonic = 'test test test test test test test test test test test junk'

/** BIP-44 path m/44'/60'/0'/0/index. */
export function developmentWallets(): Readonly<Record<AccountName, Wallet>> {
  // Making the seed from the words takes most of the time.
  const parent = mnemonicToAccount(developmentMnemonic, { path: `m/44'/60'/0'/0` }).getHdKey()
  const walletAt = (index: number): Wallet => {
    const { privateKey } = parent.deriveChild(index)
    if (privateKey === null) throw new Error('the mnemonic gave no private key')
    const key = toHex(privateKey)
    return { address: privateKeyToAddress(key), privateKey: key }
  }
  return {
    operator: walletAt(0),
    holder: walletAt(1),
    premium: walletAt(2),
    poor: walletAt(3),
    payTo: walletAt(4),
    settler: walletAt(5),
    treasury: walletAt(6),
  }
}
