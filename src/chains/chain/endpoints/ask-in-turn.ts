import { RpcError } from '../rpc-error.ts'
import type { CallSource } from './call-source.ts'
import { EndpointError } from './endpoint-error.ts'
import type { EndpointPool } from './endpoint-pool.ts'

/** There is a back-off between rounds. */
const ROUNDS_MAX = 3

export async function askInTurn<T>(
  pool: EndpointPool,
  work: (source: CallSource, host: string) => Promise<T>,
): Promise<T> {
  for (let round = 1; ; round += 1) {
    const failures: RpcError[] = []
    for (const endpoint of await pool.inOrder()) {
      try {
        return await work(endpoint.calls, endpoint.host)
      } catch (error) {
        if (!(error instanceof RpcError)) throw error
        // A revert is the same on every node.
        if (error instanceof EndpointError && error.kind === 'reverted') throw error
        if (!(error instanceof EndpointError)) endpoint.blame(error)
        failures.push(error)
      }
    }
    if (round === ROUNDS_MAX || !failures.some(mayPass))
      throw (
        failures.find((each) => each.tooLarge) ??
        failures.at(-1) ??
        new RpcError('no endpoint is configured')
      )
  }
}

/** Whether another round may help; not after a timeout, which took long already. */
function mayPass(error: RpcError): boolean {
  if (!(error instanceof EndpointError)) return false
  return ['too-fast', 'unreachable', 'malformed', 'cut-off'].includes(error.kind)
}
