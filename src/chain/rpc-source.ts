import type { CallSource } from '#chain/endpoints/json-rpc.ts'
import { EndpointError, RpcError } from '#chain/rpc-error.ts'
import type { ChainSource } from './chain-source.ts'
import { Endpoint, type EndpointEvent, systemTiming, type Timing } from './endpoints/endpoint.ts'
import { EndpointPool } from './endpoints/endpoint-pool.ts'
import { streamHistory } from './endpoints/history-stream.ts'

export interface RpcOptions {
  readonly chainId: number
  readonly urls: readonly string[]
  readonly onError?: (event: { readonly host: string; readonly message: string }) => void
  readonly onEvent?: (event: EndpointEvent) => void
  readonly timing?: Timing
}

/** ethereum/execution-apis, with probes and failover. */
export function openRpcSource(options: RpcOptions): ChainSource {
  const { chainId, timing = systemTiming } = options
  const { onError = () => {}, onEvent = () => {} } = options
  const all = options.urls.map((url) => new Endpoint({ chainId, timing, onError, onEvent }, url))
  const pool = new EndpointPool(timing, chainId, all)
  return {
    chainId,
    askChainId: () => askChainId(pool, all),
    header: (block) => askInTurn(pool, (calls) => calls.header(block)),
    logsInRange: (filter, from, to) =>
      askInTurn(pool, (calls) => calls.logsInRange(filter, from, to)),
    logsInBlock: (filter, hash) => askInTurn(pool, (calls) => calls.logsInBlock(filter, hash)),
    receiptLogs: (hash) =>
      askInTurn(pool, (calls) => calls.receiptLogs(hash)).catch(undefinedWithoutMethod),
    provenBlock: (ref, wants) =>
      askInTurn(pool, (calls, host) =>
        calls.provenBlock(ref, wants).catch((error) => named(host, error)),
      ),
    code: (address, block) => askInTurn(pool, (calls) => calls.code(address, block)),
    call: (to, data, block) => askInTurn(pool, (calls) => calls.call(to, data, block)),
    history: (request) => streamHistory(pool, request),
    distrust(host, reason) {
      const lie = new RpcError(reason, { lie: true })
      for (const endpoint of all) if (endpoint.host === host) endpoint.blame(lie)
    },
    endpoints: () => all.map((endpoint) => endpoint.status(endpoint === all[0])),
  }
}

async function askChainId(pool: EndpointPool, all: readonly Endpoint[]): Promise<number> {
  try {
    return await askInTurn(pool, (calls) => calls.askChainId())
  } catch (error) {
    const stranger = all.find(({ state }) => state === 'wrong-chain')
    if (stranger === undefined) throw error
    return stranger.calls.askChainId()
  }
}

function named(host: string, error: unknown): never {
  if (!(error instanceof EndpointError) || error.kind !== 'unproven') throw error
  throw new EndpointError('unproven', `${host}: ${error.message}`)
}

function undefinedWithoutMethod(error: unknown): undefined {
  if (error instanceof EndpointError && error.kind === 'no-method') return undefined
  throw error
}

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
