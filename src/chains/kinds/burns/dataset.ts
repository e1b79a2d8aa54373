import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import type { Dataset } from '#chains/indexer/dataset.ts'
import { makeEventReader, selectorsOf } from '#chains/indexer/decode-event.ts'
import { logPlaceOf, makeEventDataset } from '#chains/indexer/events/event-dataset.ts'
import type { EventFact } from '#chains/indexer/events/sums.ts'
import type { Selector } from '#chains/indexer/select-logs.ts'
import { burns } from '#chains/kinds/burns/kind.ts'
import { isTransferOfToken } from '#chains/kinds/burns/repeated-burns.ts'
import type { Address } from '#domain/address.ts'
import type { Log } from '#domain/chain.ts'
import { isTracked, TRANSFER_TOPIC } from '#domain/token.ts'
import { type BurnLog, netBurns, type SupplyMove } from './net-burns.ts'
import { revertUnminted, storeUnminted, type Unminted } from './unminted.ts'

/**
 * Mapped burns, net of the mints and bridge events of their transactions. Without burns nothing
 * is followed.
 */
export function burnsDataset(ecosystem: Ecosystem): Dataset<BurnLog> {
  const { part, dataset: name, byAccount } = burns
  const { together, ...base } = makeEventDataset({
    name,
    part,
    byAccount,
    sources: ecosystem.burns,
  })
  const tokens = ecosystem.burns.length === 0 ? new Map<string, Minted>() : mintedTokens(ecosystem)
  const bridges = ecosystem.bridges.filter(({ chain }) =>
    [...tokens.values()].some(({ chainId }) => chainId === chain.id),
  )
  const readBridge = makeEventReader(bridges)
  const toBurnLogs = (log: Log, [first, ...more]: readonly EventFact[]): readonly BurnLog[] => {
    const burn = first ?? null
    const move = readMove(log, tokens)
    const stated = readBridge(log).map(({ source, args }) => source.read(args))
    // Tokens may share a bridge's event; a token counts it once.
    const bridged = [...Map.groupBy(stated, ({ token }) => token).values()].flatMap((own) =>
      own.slice(0, 1),
    )
    if (burn === null && move === null && bridged.length === 0) return []
    const rows = more.map((each) => ({ log: each.log, burn: each, move: null, bridged: [] }))
    return [{ log: logPlaceOf(log), burn, move, bridged }, ...rows]
  }
  return {
    ...base,
    selectors: [
      ...base.selectors,
      ...selectorsOf(bridges),
      ...[...tokens.values()].flatMap(zeroTransfersOf),
    ],
    decode: (log) => toBurnLogs(log, base.decode(log)),
    ...(together && {
      together: {
        isWaiting: together.isWaiting,
        decode(logs) {
          const burnsOf = together.decode(logs)
          return (log) => toBurnLogs(log, burnsOf(log))
        },
      },
    }),
    async apply(change, logs) {
      const net = netAll(logs)
      await base.apply(change, net.burns)
      await storeUnminted(change, net.unminted)
    },
    async revert(change, ancestor) {
      await base.revert(change, ancestor)
      await revertUnminted(change, ancestor)
    },
  }
}

interface Minted {
  readonly chainId: number
  readonly address: Address
  readonly symbol: string
}

/** Wherever their mints count: tokens whose burns are mapped, and those whose supply is followed. */
function mintedTokens({ tokens, chains, burns: mappings }: Ecosystem): ReadonlyMap<string, Minted> {
  const burned = new Set(mappings.filter(isTransferOfToken).map(({ token }) => token?.symbol))
  const found = new Map<string, Minted>()
  for (const token of tokens.filter((each) => isTracked(each) || burned.has(each.symbol)))
    for (const { id: chainId, name } of chains) {
      const address = token.addresses.get(name)
      if (address !== undefined)
        found.set(`${chainId}|${address}`, { chainId, address, symbol: token.symbol })
    }
  return found
}

const ZERO_TOPIC = `0x${'0'.repeat(64)}` as const

function zeroTransfersOf({ chainId, address }: Minted): readonly Selector[] {
  const ofToken = { chainId, address, topic0: TRANSFER_TOPIC }
  return [
    { ...ofToken, arguments: [[ZERO_TOPIC]] },
    { ...ofToken, arguments: [null, [ZERO_TOPIC]] },
  ]
}

/** Undefined for other logs, and for what the zero address keeps to itself. */
function readMove(log: Log, tokens: ReadonlyMap<string, Minted>): SupplyMove | null {
  const [topic0, from, to, ...more] = log.topics
  const isTransfer = topic0 === TRANSFER_TOPIC && more.length === 0 && log.data.length === 66
  if (!isTransfer || from === undefined || to === undefined || from === to) return null
  const token = tokens.get(`${log.chainId}|${log.address}`)
  if (token === undefined || (from !== ZERO_TOPIC && to !== ZERO_TOPIC)) return null
  const isMint = from === ZERO_TOPIC
  return {
    token: token.symbol,
    holder: `0x${(isMint ? to : from).slice(26)}`,
    amount: BigInt(log.data),
    kind: isMint ? 'mint' : 'burn',
  }
}

/** Takes whole blocks in chain order. */
function netAll(logs: readonly BurnLog[]) {
  const unminted = new Map<string, Unminted>()
  const transactions = Map.groupBy(logs, ({ log }) => `${log.blockNumber} ${log.txHash}`)
  const net = [...transactions.values()].flatMap((own) => {
    const { burns: counted, unminted: found } = netBurns(own)
    const log = own[0]?.log
    if (log !== undefined)
      for (const [token, amount] of found) addUnminted(unminted, log, { token, amount })
    return counted
  })
  return { burns: net, unminted: [...unminted.values()] }
}

function addUnminted(
  unminted: Map<string, Unminted>,
  { chainId, blockNumber, timestamp }: BurnLog['log'],
  { token, amount }: { readonly token: string; readonly amount: bigint },
): void {
  const key = `${blockNumber} ${token}`
  const before = unminted.get(key)?.amount ?? 0n
  unminted.set(key, { chainId, blockNumber, token, timestamp, amount: before + amount })
}
