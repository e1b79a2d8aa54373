import assert from 'node:assert/strict'
import type { LogColumns } from '#chains/chain/columns/log-columns.ts'
import type { PairTable } from '#chains/chain/columns/pair-table.ts'
import { RpcError } from '#chains/chain/rpc-error.ts'
import { readBackfill } from '#chains/indexer/backfill/backfill-row.ts'
import type { Change, HistoryFold } from '#chains/indexer/dataset.ts'
import type { Address } from '#domain/address.ts'
import { TRANSFER_TOPIC } from '#domain/token.ts'
import { free } from '#lib/free.ts'
import { DAY_SECONDS, startOfDay } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import { sumTotalsAnew } from '../fold-totals.ts'
import { MISSHAPEN } from '../movement.ts'
import { noteOverdrawnTokens } from '../note-overdrawn.ts'
import { countHoldersAnew } from './count-holders-anew.ts'
import { loadToken } from './load-token.ts'
import { storeHolderDays, storeToken } from './store-token.ts'
import { type Changed, TokenHistory } from './token-history.ts'

export interface HistoryToken {
  readonly symbol: string
  readonly address: Address
  /** Then a wallet may hold it on another chain too. */
  readonly isOnSeveralChains: boolean
}

export function openHoldersHistory(input: {
  readonly chainId: number
  readonly tokens: readonly HistoryToken[]
  readonly locked: ReadonlySet<Address>
  readonly hoursFromUnix: number
}): HistoryFold {
  const { chainId } = input
  const histories = new Map(
    input.tokens.map(({ symbol, address }) => [address, new TokenHistory(symbol, input)]),
  )
  const isCountedAtTheEnd = (token: HistoryToken) => token.isOnSeveralChains || isResumed
  let isResumed = false
  const byTable = new WeakMap<PairTable, readonly (TokenHistory | undefined)[]>()
  let dayUnix = 0

  const beginDay = (day: number) => {
    if (day < dayUnix) throw new RpcError(`block times of chain ${chainId} go backwards`)
    dayUnix = day
    for (const history of histories.values()) history.beginDay(day)
  }

  return {
    async load(connection: Connection) {
      const backfill = await readBackfill(connection, chainId)
      if (backfill === undefined || backfill.folded.timestamp < 0) return
      isResumed = true
      dayUnix = startOfDay(backfill.folded.timestamp)
      for (const history of histories.values())
        await loadToken(connection, { chainId, dayUnix }, history)
    },
    take(columns: LogColumns, report) {
      const tokens = tokensOf(columns.table, histories, byTable)
      const { count, pair, timestamp } = columns
      for (let index = 0; index < count; index += 1) {
        const history = tokens[pair[index] ?? 0]
        if (history === undefined) continue
        const time = timestamp[index] ?? 0
        if (time >= dayUnix + DAY_SECONDS || time < dayUnix) beginDay(startOfDay(time))
        if (!history.take(columns, index, time))
          report(columns.log(index), { kind: 'unreadable', reason: MISSHAPEN })
      }
    },
    drain() {
      const drained = input.tokens.flatMap((token) => {
        const changed = histories.get(token.address)?.drain()
        return changed === undefined ? [] : [{ token, changed }]
      })
      let isStored = false
      return async (change: Change) => {
        assert(!isStored, 'drained data is stored once: its memory is freed')
        isStored = true
        for (const { token, changed } of drained) {
          await storeToken(change, token.symbol, changed)
          if (!isCountedAtTheEnd(token))
            await storeHolderDays(change, token.symbol, changed.holderDays)
          freeColumns(changed)
        }
        await noteOverdrawnTokens(change, input.tokens)
      }
    },
    async complete({ connection }: Change) {
      for (const token of input.tokens.filter(isCountedAtTheEnd))
        await countHoldersAnew(connection, token)
      for (const { symbol } of input.tokens.filter((each) => each.isOnSeveralChains))
        await sumTotalsAnew(connection, symbol)
    },
  }
}

function freeColumns({ holders, hours, ended }: Changed): void {
  holders.free()
  hours.free()
  free(ended.addresses)
  free(ended.from)
  free(ended.until)
}

function tokensOf(
  table: PairTable,
  histories: ReadonlyMap<Address, TokenHistory>,
  known: WeakMap<PairTable, readonly (TokenHistory | undefined)[]>,
): readonly (TokenHistory | undefined)[] {
  const found = known.get(table)
  if (found !== undefined) return found
  const tokens = table.pairs.map(({ address, topic0 }) =>
    topic0 === TRANSFER_TOPIC ? histories.get(address) : undefined,
  )
  known.set(table, tokens)
  return tokens
}
