import { type AbiFunction, decodeResult, encodeData } from 'ox/AbiFunction'
import type { Address } from '#base/address.ts'
import type { ChainSource } from '#chain/chain-source.ts'
import { EndpointError } from '#chain/rpc-error.ts'
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
