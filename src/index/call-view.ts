import { type AbiFunction, decodeResult, encodeData } from 'ox/AbiFunction'
import { type Address, ZERO_ADDRESS } from '#base/address.ts'
import type { ChainSource } from '#chain/chain-source.ts'
import { EndpointError, RpcError } from '#chain/rpc-error.ts'
import type { Problem } from '#ecosystem/problem.ts'

/** Undefined if the contract lacks the view. Throws ProofError if no node makes the call. */
export async function callView(
  source: Pick<ChainSource, 'call'>,
  input: {
    readonly field: string
    readonly address: Address
    readonly view: AbiFunction
    readonly args?: readonly unknown[] | undefined
  },
): Promise<unknown> {
  const { field, address, view, args } = input
  const answer = await source
    .call(address, args === undefined ? encodeData(view) : encodeData(view, args))
    .catch((error: unknown) => {
      if (!(error instanceof EndpointError)) throw error
      if (error.kind === 'reverted') return undefined
      throw new ProofError(
        field,
        `cannot be checked, since ${view.name}() could not be called: ${error.message}; use an endpoint that answers eth_call`,
      )
    })
  if (answer === undefined) return undefined
  try {
    return decodeResult(view, answer)
  } catch {
    return undefined
  }
}

export class ProofError extends Error {
  override readonly name = 'ProofError'
  problems: readonly Problem[]

  constructor(field: string, message: string) {
    super(`${field}: ${message}`)
    this.problems = [{ field, message }]
  }

  static join(errors: readonly ProofError[]): ProofError {
    const joined = new ProofError('', '')
    joined.message = errors.map((error) => error.message).join('\n')
    joined.problems = errors.flatMap((error) => error.problems)
    return joined
  }
}

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
  return readNumber(source, token, {
    data: holder === ZERO_ADDRESS ? TOTAL_SUPPLY : encodeBalanceOf(holder),
    blockNumber,
  })
}

/**
 * `totalSupply()`, to compare with the supply that transfers leave. Contracts without a burn, such as WETH9, keep
 * what the zero address was sent in `totalSupply()`, as its balance.
 */
export async function askSupply(
  source: Pick<ChainSource, 'call'>,
  token: Address,
  { stored, blockNumber }: { readonly stored: bigint; readonly blockNumber: number },
): Promise<bigint> {
  const total = await askContract(source, token, ZERO_ADDRESS, blockNumber)
  if (total === stored) return total
  const buried = await readNumber(source, token, {
    data: encodeBalanceOf(ZERO_ADDRESS),
    blockNumber,
  }).catch(nothingIfReverted)
  return total - buried === stored ? stored : total
}

/** A contract may refuse to answer for the zero address; a node that fails answers nothing. */
function nothingIfReverted(error: unknown): bigint {
  if (error instanceof EndpointError && error.kind === 'reverted') return 0n
  throw error
}

function encodeBalanceOf(holder: Address): `0x${string}` {
  return `${BALANCE_OF}${holder.slice(2).padStart(64, '0')}`
}

async function readNumber(
  source: Pick<ChainSource, 'call'>,
  token: Address,
  { data, blockNumber }: { readonly data: `0x${string}`; readonly blockNumber: number },
): Promise<bigint> {
  const answer = await source.call(token, data, blockNumber)
  if (answer.length !== 66)
    throw new RpcError(
      `${token} returned ${answer.length / 2 - 1} bytes instead of a 32-byte number`,
    )
  return BigInt(answer)
}
