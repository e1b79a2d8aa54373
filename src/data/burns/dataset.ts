import type { Address } from '#base/address.ts'
import type { Log } from '#base/chain.ts'
import { formatDecimal } from '#base/money.ts'
import { isTracked, TRANSFER_TOPIC } from '#base/token.ts'
import { BURNS, burns, isTransferOfToken } from '#data/burns/kind.ts'
import {
  makeEventDataset,
  revertEvents,
  storeValued,
  toLogPlace,
} from '#data/events/event-dataset.ts'
import { sumTotal, sumTotals } from '#data/events/sums.ts'
import { readTotalSupply } from '#data/holders/queries.ts'
import type { Connection } from '#db/engine.ts'
import type { Ecosystem, PricedToken } from '#ecosystem/ecosystem.ts'
import { type Deployment, listDeployments } from '#ecosystem/priced-token.ts'
import type { Dataset, Selector } from '#index/dataset.ts'
import { makeEventReader, toSelectors } from '#index/decode-event.ts'
import type { EventFact } from '#index/event.ts'

/**
 * Mapped burns, net of the mints and bridge events of their transactions. Without burns nothing
 * is followed.
 */
export function burnsDataset(ecosystem: Ecosystem): Dataset<BurnLog> {
  const base = makeEventDataset({
    name: burns.dataset,
    sources: ecosystem.burns,
  })
  const minted = mintedTokens(ecosystem)
  const symbols = new Map(minted.map((each) => [`${each.chainId}|${each.address}`, each.symbol]))
  const bridges = ecosystem.bridges.filter(({ chain }) =>
    minted.some(({ chainId }) => chainId === chain.id),
  )
  const readBridge = makeEventReader(bridges)
  const toBurnLogs = (log: Log, [first, ...more]: readonly EventFact[]): readonly BurnLog[] => {
    const burn = first ?? null
    const move = readMove(log, symbols)
    const stated = readBridge(log).map(({ source, args }) => source.read(args))
    // Tokens may share a bridge's event; a token counts it once.
    const bridged = [...Map.groupBy(stated, ({ token }) => token).values()].flatMap((own) =>
      own.slice(0, 1),
    )
    if (burn === null && move === null && bridged.length === 0) return []
    const rows = more.map((each) => ({ log: each.log, burn: each, move: null, bridged: [] }))
    return [{ log: toLogPlace(log), burn, move, bridged }, ...rows]
  }
  return {
    ...base,
    selectors: [...base.selectors, ...toSelectors(bridges), ...minted.flatMap(selectZeroTransfers)],
    decode: (log, others) => toBurnLogs(log, base.decode(log, others)),
    async apply(change, logs) {
      // Whole blocks, in chain order.
      const transactions = Map.groupBy(logs, ({ log }) => `${log.blockNumber} ${log.txHash}`)
      const net = [...transactions.values()].map(netBurns)
      await base.apply(
        change,
        net.flatMap((each) => each.burns),
      )
      const facts = net.flatMap(({ unminted }) => unminted)
      await storeValued(change.connection, {
        dataset: UNMINTED,
        facts,
        values: facts.map(() => null),
      })
    },
    async revert(change, ancestor) {
      await base.revert(change, ancestor)
      const { changes: _, ...unfed } = change
      await revertEvents(unfed, UNMINTED, ancestor)
    },
  }
}

/** Wherever their mints count: tokens whose burns are mapped, and those whose supply is followed. */
function mintedTokens({ tokens, chains, burns: mappings }: Ecosystem): readonly Deployment[] {
  if (mappings.length === 0) return []
  const burned = new Set(mappings.filter(isTransferOfToken).map(({ token }) => token?.symbol))
  const minted = tokens.filter((each) => isTracked(each) || burned.has(each.symbol))
  return listDeployments(minted, chains)
}

const ZERO_TOPIC = `0x${'0'.repeat(64)}` as const

function selectZeroTransfers({ chainId, address }: Deployment): readonly Selector[] {
  const ofToken = { chainId, address, topic0: TRANSFER_TOPIC }
  return [
    { ...ofToken, arguments: [[ZERO_TOPIC]] },
    { ...ofToken, arguments: [null, [ZERO_TOPIC]] },
  ]
}

/** Undefined for other logs, and for what the zero address keeps to itself. */
function readMove(log: Log, symbols: ReadonlyMap<string, string>): SupplyMove | null {
  const [topic0, from, to, ...more] = log.topics
  const isTransfer = topic0 === TRANSFER_TOPIC && more.length === 0 && log.data.length === 66
  if (!isTransfer || from === undefined || to === undefined || from === to) return null
  const token = symbols.get(`${log.chainId}|${log.address}`)
  if (token === undefined || (from !== ZERO_TOPIC && to !== ZERO_TOPIC)) return null
  const [kind, holder] = from === ZERO_TOPIC ? (['mint', to] as const) : (['burn', from] as const)
  return { token, holder: `0x${holder.slice(26)}`, amount: BigInt(log.data), kind }
}

/** A mint or burn: a transfer from or to the zero address. */
export interface SupplyMove {
  readonly token: string
  readonly holder: Address
  readonly amount: bigint
  readonly kind: 'mint' | 'burn'
}

export interface BurnLog {
  readonly log: EventFact['log']
  readonly burn: EventFact | null
  readonly move: SupplyMove | null
  /** Moves that a bridge states with it, one per token. */
  readonly bridged: readonly Pick<SupplyMove, 'token' | 'amount'>[]
}

interface NetBurns {
  /** Burns with the amounts that count; none is 0. */
  readonly burns: readonly EventFact[]
  /** What a bridge minted or the same transaction undid, at the log that says so. */
  readonly unminted: readonly EventFact[]
}

/**
 * Nets one transaction's logs, in their order. A zero-address transfer next to a bridge event of the same
 * amount moves between chains. A burn of at least what its holder was minted before counts only what
 * exceeds that, so a flash mint burns nothing.
 */
export function netBurns(logs: readonly BurnLog[]): NetBurns {
  const bridged = bridgedMoves(logs)
  const minted = new Map<string, bigint>()
  const unminted: EventFact[] = []
  const burns: EventFact[] = []
  for (const { log, burn, move } of logs) {
    const unmint = (token: string, amount: bigint) => {
      const fact = { log, kind: UNMINTED, token, account: null, amount, detail: null }
      if (amount > 0n) unminted.push({ ...fact, counted: true })
    }
    // A transfer to a burn address counts as it is, even if the zero address sent it.
    if (burn !== null && move?.kind !== 'burn') burns.push(burn)
    if (move === null) continue
    const { token, holder, amount, kind } = move
    if (bridged.has(move)) {
      if (kind === 'mint') unmint(token, amount)
      continue
    }
    const held = `${token}|${holder}`
    const notUndone = minted.get(held) ?? 0n
    if (kind === 'mint') minted.set(held, notUndone + amount)
    else if (amount >= notUndone) {
      minted.delete(held)
      unmint(token, notUndone)
      if (burn !== null && amount > notUndone) burns.push({ ...burn, amount: amount - notUndone })
    } else if (burn !== null) burns.push(burn)
  }
  return { burns, unminted }
}

/**
 * Each event takes the nearest move before it, as bridges emit theirs afterwards, or else the first
 * after it: a flash mint of the same amount around it is none.
 */
function bridgedMoves(logs: readonly BurnLog[]): ReadonlySet<SupplyMove> {
  const taken = new Set<SupplyMove>()
  const open = new Map<string, SupplyMove[]>()
  const early = new Map<string, number>()
  for (const { move, bridged } of logs) {
    if (move !== null) {
      const same = open.get(nameMove(move))
      if (same === undefined) open.set(nameMove(move), [move])
      else same.push(move)
    }
    for (const each of bridged) {
      const before = open.get(nameMove(each))?.pop()
      if (before !== undefined) taken.add(before)
      else early.set(nameMove(each), (early.get(nameMove(each)) ?? 0) + 1)
    }
  }
  for (const [key, events] of early)
    for (const move of open.get(key)?.slice(0, events) ?? []) taken.add(move)
  return taken
}

function nameMove({ token, amount }: Pick<SupplyMove, 'token' | 'amount'>): string {
  return `${token}|${amount}`
}

/** What was minted but is not new; in `events`, but neither listed nor fed. */
export const UNMINTED = 'unminted'

/** Excludes what bridges minted and mints undone in their own transaction. */
export async function newlyMinted(connection: Connection, token: string): Promise<bigint> {
  const { minted } = await readTotalSupply(connection, token)
  const unminted = await sumTotals(connection, UNMINTED)
  return minted - sumTotal(unminted, (each) => each.token === token).amount
}

export interface ImpossibleBurns {
  readonly token: string
  readonly detail: string
}

/**
 * More burned than minted: if the transfers add up to the contract's supply, burn mappings match
 * other logs or count burns twice.
 */
export async function impossibleBurns(
  connection: Connection,
  tokens: readonly PricedToken[],
): Promise<readonly ImpossibleBurns[]> {
  const totals = await sumTotals(connection, BURNS)
  const found: ImpossibleBurns[] = []
  for (const { symbol, decimals } of tokens.filter(isTracked)) {
    const { amount } = sumTotal(totals, (each) => each.token === symbol)
    const { minted } = await readTotalSupply(connection, symbol)
    if (amount <= minted) continue
    const show = (units: bigint) => formatDecimal(units, decimals)
    const detail = `${show(amount)} ${symbol} burned of ${show(minted)} ever minted: check the burns of ${symbol} in the ecosystem file`
    found.push({ token: symbol, detail })
  }
  return found
}
