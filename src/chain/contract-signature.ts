import { encodeData, from as parseFunction } from 'ox/AbiFunction'
import type { Address, Hash } from '#base/address.ts'
import { NodeRefusal } from './rpc-error.ts'

export interface WalletNode {
  /** Returns `0x` without a contract. */
  code(account: Address): Promise<Hash>
  call(input: { readonly to: Address; readonly data: Hash; readonly gas: bigint }): Promise<Hash>
}

export type WalletAnswer = 'signed' | 'unsigned' | 'undeployed'

const isValidSignature = parseFunction(
  'function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)',
)

/** All 32 bytes: the call data begin with the same four. */
const ACCEPTED = `0x1626ba7e${'0'.repeat(56)}`

/** Asks a wallet that is a contract at the tip (ERC-1271). Throws if the node does not answer. */
export async function askContractWallet(
  node: WalletNode,
  input: {
    readonly wallet: Address
    readonly digest: Hash
    readonly signature: Hash
    readonly gas: bigint
  },
): Promise<WalletAnswer> {
  const { wallet, digest, signature, gas } = input
  if ((await node.code(wallet)) === '0x') return 'undeployed'
  const data = encodeData(isValidSignature, [digest, signature])
  try {
    const answer = await node.call({ to: wallet, data, gas })
    return answer.startsWith(ACCEPTED) ? 'signed' : 'unsigned'
  } catch (error) {
    if (error instanceof NodeRefusal && isContractsFault(error)) return 'unsigned'
    throw error
  }
}

/** EIP-1474 and geth. */
const REVERTED = 3

const FAULT =
  /revert|out ?of ?gas|invalid ?(fe)? ?(opcode|jump)|stack ?(under|over|limit)|write protection|out of bounds/i

/** Any other refusal, such as of a caller who asks too fast, says nothing about the signature. */
function isContractsFault({ code, message }: NodeRefusal): boolean {
  return code === REVERTED || FAULT.test(message)
}
