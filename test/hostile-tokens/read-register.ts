import type { Address } from '#base/address.ts'
import { logIndexAt } from '#base/chain.ts'
import { listEvents } from '#data/event-lists.ts'
import { sumTotals } from '#data/events/sums.ts'
import {
  countHolders,
  readBalanceAt,
  readTotalSupply,
  sumCirculating,
  sumTotalSupply,
} from '#data/holders/queries.ts'
import type { Connection, Engine } from '#db/engine.ts'
import type { Chain, Ecosystem } from '#ecosystem/ecosystem.ts'
import { readPosition, readStalls } from '#index/status.ts'
import { dataRoutesOf, readRoute } from '#test/route-reader.ts'
import { addEvents, FigureList, type Figures, supplyText, totalText } from './figures.ts'
import { readAnomalyBlocks, readStoredBalances } from './register-rows.ts'
import { people } from './transaction-draft.ts'
import type { WorldPlan } from './world-plan.ts'

/** More than any history has. */
const EVENTS_MAX = 20_000

const tracked = ['GRAVE', 'CRYPT'] as const

interface ReadInput {
  readonly register: Engine
  readonly ecosystem: Ecosystem
  readonly plan: WorldPlan
}

/** The figures of a recount as the register and the API have them. */
export async function readRegister(input: ReadInput): Promise<Figures> {
  const { register, ecosystem } = input
  const list = new FigureList()
  await register.snapshot(async (reads) => {
    const stalls = [...(await readStalls(reads))].map(
      ([chainId, { reason, detail }]) => `${chainId} ${reason}: ${detail}`,
    )
    list.add('stalled', 'chains', stalls.join('; ') || 'none')
    for (const chain of ecosystem.chains) {
      const position = await readPosition(reads, chain.id)
      list.add('position', chain.name, position?.hash ?? 'nothing')
    }
    await addRows(list, reads, input)
    for (const { chainId, blockNumber } of await readAnomalyBlocks(reads))
      list.add('anomalies', `${nameOf(ecosystem, chainId)} ${blockNumber}`, 'yes')
    for (const token of tracked) await addHoldings(list, reads, { ...input, token })
  })
  return list.figures
}

function nameOf({ chains }: Ecosystem, chainId: number): string {
  return chains.find(({ id }) => id === chainId)?.name ?? `chain ${chainId}`
}

async function addRows(
  list: FigureList,
  reads: Connection,
  { ecosystem, plan }: ReadInput,
): Promise<void> {
  const chainIds = ecosystem.chains.map(({ id }) => id)
  const isNumbered = !plan.features.has('indexes-by-transaction')
  for (const dataset of ['burns', 'dividends'] as const) {
    const { events } = await listEvents(reads, { dataset, chainIds, limit: EVENTS_MAX })
    const inOrder = events.toSorted(
      (a, b) => a.chainId - b.chainId || a.blockNumber - b.blockNumber || a.place - b.place,
    )
    addEvents(
      list,
      inOrder.map((event) => ({
        ...event,
        dataset,
        chain: nameOf(ecosystem, event.chainId),
        block: event.blockNumber,
        logIndex: isNumbered ? logIndexAt(event.place) : null,
      })),
    )
    for (const { token, chainId, ...sums } of await sumTotals(reads, dataset))
      list.add('total', `${dataset} ${token} ${nameOf(ecosystem, chainId)}`, totalText(sums))
  }
  for (const { token, address, chainId, balance } of await readStoredBalances(reads))
    list.add('balance', `${token} ${nameOf(ecosystem, chainId)} ${address}`, `${balance}`)
}

async function addHoldings(
  list: FigureList,
  reads: Connection,
  input: ReadInput & { readonly token: string },
): Promise<void> {
  const { token, ecosystem } = input
  for (const chain of ecosystem.chains) {
    const supply = await readTotalSupply(reads, token, chain.id)
    const { minted } = supply
    const [total, circulating] = [sumTotalSupply(supply), sumCirculating(supply)]
    list.add('supply', `${token} ${chain.name}`, supplyText({ minted, total, circulating }))
    await addRecentBalances(list, reads, { ...input, chain })
  }
  list.add('holders', token, `${await countHolders(reads, token)}`)
}

/** Balances at blocks that may still be reorganised. */
async function addRecentBalances(
  list: FigureList,
  reads: Connection,
  input: Pick<ReadInput, 'plan'> & { readonly token: string; readonly chain: Chain },
): Promise<void> {
  const { plan, token, chain } = input
  const position = await readPosition(reads, chain.id)
  if (position === undefined) return
  for (const below of [1, plan.finalDepth - 1])
    for (const person of people) {
      const address = person.toLowerCase() as Address
      const at = { token, address, chainId: chain.id, blockNumber: position.number - below }
      const balance = await readBalanceAt(reads, at)
      if (balance !== 0n)
        list.add('balance', `${token} ${chain.name} below ${below} ${address}`, `${balance}`)
    }
}

interface StatsBody {
  readonly tokens: readonly (Readonly<Record<string, unknown>> & { readonly symbol: string })[]
}

/** The figures of the API, or why it did not answer. */
export async function readApi({ register, ecosystem }: ReadInput): Promise<Figures> {
  const list = new FigureList()
  const routes = dataRoutesOf({ register, ecosystem })
  try {
    const { tokens } = (await readRoute(routes, '/api/stats')).data as StatsBody
    for (const symbol of tracked) {
      const stats = tokens.find((each) => each.symbol === symbol)
      for (const name of ['totalSupply', 'circulatingSupply', 'holderCount', 'totalBurned'])
        list.add('api', `${symbol} ${name}`, `${stats?.[name]}`)
      const burns = await readRoute(routes, `/api/burns/total?token=${symbol}`)
      const { pctOfMinted } = burns.data as { readonly pctOfMinted: unknown }
      list.add('api', `${symbol} pctOfMinted`, `${pctOfMinted}`)
    }
    list.add('api', 'answers', 'all')
  } catch (error) {
    list.add('api', 'answers', error instanceof Error ? `${error.message}` : String(error))
  }
  return list.figures
}
