import { type Address, getAddress, type Hash } from 'viem'
import { mine } from '#devnet/actions.ts'
import { accounts } from '#devnet/addresses.ts'
import type { Call } from '#devnet/calls.ts'
import { type ChainClient, sendTransaction } from '#devnet/chain-client.ts'
import { creationOf } from './deployed-ecosystem.ts'

/** Creates a contract of `contracts/src` on a local chain that only `mine` moves on. */
export async function deployContract(
  chain: ChainClient,
  name: string,
  values: readonly (Address | boolean)[] = [],
): Promise<Address> {
  const types = values.map((value) => (typeof value === 'boolean' ? 'bool' : 'address')).join()
  const receipt = await transact(chain, {
    from: accounts.operator,
    data: creationOf(name, types, values),
  })
  return getAddress(receipt.contractAddress ?? '0x')
}

/** Sends a transaction, and mines its block. */
export async function transact(chain: ChainClient, call: Call) {
  const hash = await sendTransaction(chain, call)
  await mine(chain, { blocks: 1 })
  const method = 'eth_getTransactionReceipt'
  const receipt = (await chain.rpc.send({ method, params: [hash] })) as {
    readonly status: string
    readonly transactionHash: Hash
    readonly contractAddress: Address | null
  }
  if (receipt.status !== '0x1') throw new Error(`the transaction ${hash} failed`)
  return receipt
}
