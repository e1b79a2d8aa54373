import type { ChainSource } from '#chains/chain/chain-source.ts'
import { RpcError } from '#chains/chain/rpc-error.ts'
import { type Address, ZERO_ADDRESS } from '#domain/address.ts'

/** EIP-20. */
const TOTAL_SUPPLY = '0x18160ddd'
const BALANCE_OF = '0x70a08231'

export async function readSupply(
  source: Pick<ChainSource, 'call'>,
  token: Address,
  blockNumber: number,
): Promise<bigint> {
  const answer = await source.call(token, TOTAL_SUPPLY, blockNumber)
  return answer === '0x' ? 0n : BigInt(answer)
}

/** Calls `totalSupply()` for the zero address, else `balanceOf`. */
export async function askContract(
  source: Pick<ChainSource, 'call'>,
  token: Address,
  holder: Address,
  blockNumber: number,
): Promise<bigint> {
  const data: `0x${string}` =
    holder === ZERO_ADDRESS ? TOTAL_SUPPLY : `${BALANCE_OF}${holder.slice(2).padStart(64, '0')}`
  const answer = await source.call(token, data, blockNumber)
  if (answer.length !== 66)
    throw new RpcError(
      `${token} returned ${answer.length / 2 - 1} bytes instead of a 32-byte number`,
    )
  return BigInt(answer)
}
