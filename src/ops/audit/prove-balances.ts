import { type Address, type Hash, showAddress, ZERO_ADDRESS } from '#base/address.ts'
import type { Clock } from '#base/time.ts'
import { isTracked, TRANSFER_TOPIC } from '#base/token.ts'
import type { ChainSource } from '#chain/chain-source.ts'
import { openRpcSource } from '#chain/rpc-source.ts'
import { readTotalSupply, sumCirculating, sumTotalSupply } from '#data/holders/queries.ts'
import type { Connection, Engine } from '#db/engine.ts'
import { column, type Row, sql } from '#db/sql.ts'
import { type StoreState, streamTable } from '#db/stream-table.ts'
import type { Chain, Ecosystem, PricedToken } from '#ecosystem/ecosystem.ts'
import { askContract, askSupply } from '#index/call-view.ts'
import type { ChainStatus, IndexStatus } from '#index/status.ts'

export interface AuditDeps {
  readonly ecosystem: Ecosystem
  readonly register: Engine
  readonly clock: Clock
  sourceOf(chain: Chain): ChainSource
  onProgress(progress: {
    readonly task: string
    readonly done: number
    readonly total: number
  }): void
  note(line: string): void
}

/** Calls per batch. */
const CALLS_AT_ONCE = 200

/**
 * Compares `totalSupply()` and each `balanceOf` at the indexed block; returns the first difference.
 */
export async function proveBalances(
  deps: Pick<AuditDeps, 'ecosystem' | 'sourceOf' | 'note' | 'onProgress'>,
  stored: StoreState,
  status: IndexStatus,
): Promise<string | undefined> {
  for (const token of deps.ecosystem.tokens.filter(isTracked))
    for (const chain of status.chains) {
      const contract = token.addresses.get(chain.chain.name)
      if (contract === undefined) continue
      const place = { token, chain, contract }
      const difference =
        (await proveSupply(deps, stored.connection, place)) ??
        (await proveHolders(deps, stored, place))
      if (difference !== undefined) return difference
    }
  return undefined
}

interface Place {
  readonly token: PricedToken
  readonly chain: ChainStatus
  readonly contract: Address
}

async function proveSupply(
  deps: Pick<AuditDeps, 'sourceOf'>,
  stored: Connection,
  place: Place,
): Promise<string | undefined> {
  const { token, chain, contract } = place
  const supply = await readTotalSupply(stored, token.symbol, chain.chain.id)
  const total = sumTotalSupply(supply)
  const source = deps.sourceOf(chain.chain)
  const { blockNumber } = chain
  const onChain = await askSupply(source, contract, { stored: total, blockNumber })
  if (onChain !== total)
    return describe(place, { contract, holder: ZERO_ADDRESS, onChain, stored: total })
  if (sumCirculating(supply) < 0n)
    return `${token.symbol} on ${chain.chain.name}: circulating supply is negative`
  return undefined
}

async function proveHolders(
  deps: Pick<AuditDeps, 'sourceOf' | 'note' | 'onProgress'>,
  stored: StoreState,
  place: Place,
): Promise<string | undefined> {
  const { token, chain } = place
  const [count] = await stored.connection.run(sql`
    select count(*) as holders from balances
    where token = ${token.symbol} and chain_id = ${chain.chain.id}`)
  const total = count === undefined ? 0 : column.integer(count, 'holders')
  const task = `asking for ${token.symbol} on ${chain.chain.name}`
  let done = 0
  for await (const part of readPages(stored, place)) {
    const differences = await Promise.all(part.map((row) => proveHolder(deps, place, row)))
    const first = differences.find((each) => each !== undefined)
    if (first !== undefined) return describe(place, first)
    done += part.length
    deps.onProgress({ task, done, total })
  }
  deps.note(
    `${token.symbol} on ${chain.chain.name}: totalSupply and ${total} balances equal the contract's`,
  )
  return undefined
}

async function* readPages(
  stored: StoreState,
  { token, chain }: Place,
): AsyncIterable<readonly Row[]> {
  let page: Row[] = []
  const balances = streamTable(stored, {
    table: 'balances',
    key: { token: 'text', address: 'text', chain_id: 'bigint' },
    where: sql`token = ${token.symbol} and chain_id = ${chain.chain.id}`,
  })
  for await (const row of balances) {
    page.push(row)
    if (page.length < CALLS_AT_ONCE) continue
    yield page
    page = []
  }
  if (page.length > 0) yield page
}

async function proveHolder(
  deps: Pick<AuditDeps, 'sourceOf'>,
  { chain, contract }: Place,
  row: Row,
): Promise<Unequal | undefined> {
  const holder = column.hex(row, 'address')
  const stored = column.bigint(row, 'balance')
  const source = deps.sourceOf(chain.chain)
  const onChain = await askContract(source, contract, holder, chain.blockNumber)
  return onChain === stored ? undefined : { contract, holder, onChain, stored }
}

interface Unequal extends FigureDifference {
  readonly stored: bigint
}

async function describe({ token, chain }: Place, unequal: Unequal): Promise<string> {
  const { holder, onChain, stored } = unequal
  const what = holder === ZERO_ADDRESS ? 'totalSupply()' : `balanceOf(${showAddress(holder)})`
  const range = { from: chain.chain.startBlock, to: chain.blockNumber }
  const cause = await explainDifference(chain.chain, unequal, range)
  return `${token.symbol} on ${chain.chain.name}: ${what} is ${onChain}, the register has ${stored}: ${cause}`
}

/** A figure of the token's contract that differs from the register. */
export interface FigureDifference {
  readonly contract: Address
  /** The zero address stands for the total supply. */
  readonly holder: Address
  readonly onChain: bigint
}

/** Sums the transfers of each endpoint, to distinguish a node that lacks some from a token at fault. */
export async function explainDifference(
  { id: chainId, rpcUrls }: Pick<Chain, 'id' | 'rpcUrls'>,
  difference: FigureDifference,
  range: { readonly from: number; readonly to: number },
): Promise<string> {
  const sums = await Promise.all(
    rpcUrls.map(async (url) => {
      const source = openRpcSource({ chainId, urls: [url] })
      const sum = await sumTransfers(source, difference, range).catch(() => undefined)
      return { host: new URL(url).host, sum }
    }),
  )
  const hostsOf = (those: typeof sums) => those.map(({ host }) => host).join(', ')
  const answering = sums.filter(({ sum }) => sum !== undefined)
  const right = answering.filter(({ sum }) => sum === difference.onChain)
  const wrong = answering.filter(({ sum }) => sum !== difference.onChain)
  if (answering.length === 0) return 'no endpoint returned the transfers'
  if (right.length === 0) return UNEXPLAINED
  if (wrong.length === 0) return 'all transfers are on the chain; the register itself is wrong'
  return `the transfers of ${hostsOf(right)} explain it, those of ${hostsOf(wrong)} do not`
}

async function sumTransfers(
  source: Pick<ChainSource, 'history'>,
  { contract, holder }: FigureDifference,
  range: { readonly from: number; readonly to: number },
): Promise<bigint> {
  const topic: Hash = `0x${holder.slice(2).padStart(64, '0')}`
  const sumOf = async (topics: readonly (readonly Hash[] | null)[]) => {
    const pairs = [{ address: contract, topic0: TRANSFER_TOPIC }]
    const filter = { addresses: [contract], topics, pairs }
    let sum = 0n
    for await (const { logs } of source.history({ ...range, filter }))
      for (const { data } of logs) sum += BigInt(data)
    return sum
  }
  const sent = await sumOf([[TRANSFER_TOPIC], [topic]])
  const received = await sumOf([[TRANSFER_TOPIC], null, [topic]])
  return holder === ZERO_ADDRESS ? sent - received : received - sent
}

/** If no endpoint has the transfer, it may be missing there, or may never have happened. */
const UNEXPLAINED =
  'no endpoint returns transfers that explain it: the Transfer event of the token has another shape, it moves balances without Transfer events (rebasing, fees), so that its holders cannot be followed, or every endpoint lacks old history; add an archive endpoint to tell them apart'
