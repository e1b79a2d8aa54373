import assert from 'node:assert/strict'
import { fromNumber } from 'ox/Hex'
import type { Hash } from '#base/address.ts'
import { allEnded } from '#base/async.ts'
import { chunks } from '#base/chunks.ts'
import type { BlockTag, ChainSource, SourceLog } from '../chain-source.ts'
import { matches } from '../follow.ts'
import type { LogFilter } from '../log-filter.ts'
import {
  orderLogs,
  parseBlock,
  parseBytes,
  parseLogs,
  parseQuantity,
  parseReceiptLogs,
} from '../parse-rpc.ts'
import { proveBlock } from '../proofs/prove-block.ts'
import { EndpointError, RpcError } from '../rpc-error.ts'

export interface RpcCall {
  readonly method: string
  readonly params: readonly unknown[]
}

type Request = (call: RpcCall) => Promise<unknown>

export interface CallSource
  extends Pick<
    ChainSource,
    'askChainId' | 'header' | 'logsInRange' | 'logsInBlock' | 'provenBlock' | 'code' | 'call'
  > {
  /** Whether the node takes as many addresses, as far as it is known. */
  takes(filter: LogFilter): boolean
  /** Throws EndpointError `no-method` without block receipts. */
  receiptLogs(hash: Hash): Promise<readonly SourceLog[]>
}

export function callSource(
  chainId: number,
  request: Request,
  isRefusal: (error: unknown) => boolean = isRefusalOfReceipts,
): CallSource {
  const ask = (method: string, ...params: unknown[]) => request({ method, params })
  let addressesMax = Number.POSITIVE_INFINITY
  const takes = ({ addresses }: LogFilter) => (addresses?.length ?? 0) <= addressesMax
  /** Asks for the addresses in groups where the node takes no more. */
  const readLogs = async (filter: LogFilter, place: object): Promise<readonly SourceLog[]> => {
    const { addresses } = filter
    if (addresses !== null && !takes(filter)) {
      const groups = chunks(addresses, addressesMax)
      const read = groups.map((group) => readLogs({ ...filter, addresses: group }, place))
      return orderLogs((await allEnded(read)).flat())
    }
    try {
      return parseLogs(await ask('eth_getLogs', { ...wireFilter(filter), ...place }), chainId)
    } catch (error) {
      const asked = addresses?.length ?? 0
      if (!(error instanceof EndpointError) || error.addressesMax === undefined || asked < 2)
        throw error
      const { addressesMax: told } = error
      addressesMax = Math.min(addressesMax, told < asked ? Math.max(1, told) : asked >> 1)
      return readLogs(filter, place)
    }
  }
  /** A block may have more logs than the node returns, but its receipts have them. */
  const readBlock = async (filter: LogFilter, hash: Hash, refusal: unknown) => {
    if (!(refusal instanceof EndpointError) || refusal.kind !== 'too-large') throw refusal
    const logs = await source.receiptLogs(hash).catch(() => Promise.reject(refusal))
    return logs.filter((log) => matches(filter, log))
  }
  const source: CallSource = {
    takes,
    async askChainId() {
      return parseQuantity(await ask('eth_chainId'))
    },
    async header(block) {
      const header = parseBlock(await ask('eth_getBlockByNumber', toBlock(block), false))
      if (header !== undefined && typeof block === 'number' && header.number !== block)
        throw new RpcError(`asked for block ${block}, got ${header.number}`)
      return header
    },
    async logsInRange(filter, from, to) {
      try {
        return await readLogs(filter, toRange({ from, to }))
      } catch (error) {
        const block = from === to ? await source.header(from) : undefined
        if (block === undefined) throw error
        return readBlock(filter, block.hash, error)
      }
    },
    logsInBlock: (filter, blockHash) =>
      readLogs(filter, { blockHash }).catch((error: unknown) =>
        readBlock(filter, blockHash, error),
      ),
    async receiptLogs(hash) {
      const value = await ask('eth_getBlockReceipts', hash)
      if (value === null) throw new RpcError(`the node does not know the receipts of block ${hash}`)
      return parseReceiptLogs(value, chainId)
    },
    provenBlock(ref, wants) {
      return proveBlock({ chainId, ask, isRefusal }, ref, wants)
    },
    async code(address) {
      return parseBytes(await ask('eth_getCode', address, 'latest'))
    },
    async call(to, data, block) {
      return parseBytes(await ask('eth_call', { to, data }, toBlock(block ?? 'latest')))
    },
  }
  return source
}

function isRefusalOfReceipts(error: unknown): boolean {
  const kinds = ['no-method', 'refused', 'too-large']
  return error instanceof EndpointError && kinds.includes(error.kind)
}

export function rangeFilter(
  filter: LogFilter,
  range: { readonly from: number; readonly to: number },
): object {
  return { ...wireFilter(filter), ...toRange(range) }
}

function toRange({ from, to }: { readonly from: number; readonly to: number }) {
  return { fromBlock: fromNumber(from), toBlock: fromNumber(to) }
}

function toBlock(block: number | BlockTag): string {
  return typeof block === 'number' ? fromNumber(block) : block
}

function wireFilter(filter: LogFilter): object {
  const { addresses, topics } = filter
  // Nodes would take an empty list as any contract.
  assert(addresses?.length !== 0, 'a filter names no contract')
  return addresses === null ? { topics } : { address: addresses, topics }
}
