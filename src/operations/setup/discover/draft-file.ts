import type { EcosystemFile } from '#chains/ecosystem/ecosystem-file.ts'
import { type EventPart, eventKinds } from '#chains/kinds/kinds.ts'
import { type Address, showAddress } from '#domain/address.ts'
import { countOf } from '#lib/count-of.ts'
import { SetupError } from './chain-view.ts'
import { draftBridges } from './draft-bridges.ts'
import { deadAddresses, draftBurns, type Question } from './draft-burns.ts'
import { draftCoin } from './draft-coin.ts'
import type { Findings } from './inspect-chain.ts'
import type { Payout } from './payouts.ts'
import { describeFloor } from './pool-floor.ts'
import type { TokenFacts } from './token-facts.ts'

/** An ecosystem file and why each guess was made, by path such as `chains[0].startBlock`. */
export interface Draft {
  readonly file: EcosystemFile
  readonly notes: ReadonlyMap<string, string>
  readonly questions: readonly Question[]
  /** What was seen, or looked for in vain, and is in no part of the file. */
  readonly remarks: readonly string[]
}

export interface Answers {
  readonly serviceName: string
  readonly publicBaseUrl: string
  readonly payTo: Address | undefined
  /** `YYYY-MM-DD`, from when payments count. */
  readonly today: string
}

type TokenEntry = EcosystemFile['tokens'][number]

/** `symbolOf` is needed because two contracts may share a symbol. */
interface Tokens {
  readonly entries: TokenEntry[]
  readonly notes: Map<string, string>
  symbolOf(chain: string, address: Address): string | undefined
}

const AVERAGE_PRICE_MINUTES = 30
const GATE_DEPTH_BLOCKS = 10

export function draftFile(found: readonly Findings[], answers: Answers): Draft {
  const tokens = listTokens(found)
  const notes = new Map(tokens.notes)
  const chains = found.map(({ entry }) => entry)
  for (const [index, each] of found.entries())
    for (const [field, note] of Object.entries(each.notes))
      notes.set(`chains[${index}].${field}`, note)
  const dead = deadAddresses(found)
  const burns = draftBurns(
    found,
    ({ entry, token }) => tokens.symbolOf(entry.name, token.address) ?? token.symbol,
  )
  for (const [index, note] of burns.notes.entries()) notes.set(`burns[${index}]`, note)
  const bridges = draftBridges(found)
  const [primary] = tokens.entries
  if (primary !== undefined && bridges.entries.length > 0) primary.bridges = [...bridges.entries]
  for (const [index, note] of bridges.notes.entries())
    notes.set(`tokens[0].bridges[${index}]`, note)
  const payouts = listPayouts(found, tokens, notes)
  const payment = answers.payTo && draftPayment(found, answers.payTo, answers.today)
  if (payment) notes.set('payment', PAYMENT_NOTE)
  if (answers.payTo && payment === undefined)
    throw new SetupError(
      `--pay-to: no USDC was found on ${chains.map(({ name }) => name).join(', ')}; leave it out, and add "payment" by hand`,
    )
  const gate = draftGate(found, tokens)
  if (gate.note !== undefined) notes.set('gate', gate.note)
  const file: EcosystemFile = {
    service: {
      name: answers.serviceName,
      keyPrefix: 'svc',
      publicBaseUrl: answers.publicBaseUrl,
    },
    chains,
    tokens: tokens.entries,
    ...(dead.length > 0 && { supply: { burnAddresses: dead.map(showAddress) } }),
    ...(burns.entries.length > 0 && { burns: [...burns.entries] }),
    ...payouts,
    ...(payment && { payment }),
    ...(gate.gate && { gate: gate.gate }),
  }
  const questions = [
    ...burns.questions,
    ...bridges.questions,
    ...draftCoin(found),
    ...gate.questions,
  ]
  return { file, notes, questions, remarks: describeMissing(found, file) }
}

function describeMissing(
  found: readonly Findings[],
  { tokens: [primary], dividends, graveDigs }: EcosystemFile,
): readonly string[] {
  const places = found.map(({ entry }) => entry.name).join(', ')
  const price = `no pool of ${primary?.symbol} whose other side has a price was found on ${places}: figures in dollars stay null`
  const payouts = `no payouts were found on ${places}: no contract around the token emits an event that is known as one; name others with --contract 0x…`
  const isPaid = dividends ?? graveDigs ?? found.find(({ untold }) => untold.length > 0)
  return [
    ...(primary?.price === undefined ? [price] : []),
    ...(isPaid ? [] : [payouts]),
    ...found.flatMap(({ remarks }) => remarks),
  ]
}

function listTokens(found: readonly Findings[]): Tokens {
  const entries: TokenEntry[] = []
  const notes = new Map<string, string>()
  const symbols = new Map<string, string>()
  const add = (chain: string, facts: TokenFacts, role: TokenEntry['role']): number => {
    const place = `${chain} ${facts.address}`
    const taken = symbols.get(place)
    if (taken !== undefined) return entries.findIndex(({ symbol }) => symbol === taken)
    const index = entries.findIndex(
      (each) =>
        each.symbol.toUpperCase() === facts.symbol.toUpperCase() &&
        each.decimals === facts.decimals &&
        each.addresses[chain] === undefined,
    )
    const entry = index < 0 ? newEntry(entries, facts, role) : entries[index]
    if (entry === undefined) return -1
    entry.addresses[chain] = showAddress(facts.address)
    symbols.set(place, entry.symbol)
    return entries.indexOf(entry)
  }
  for (const { entry, token, implementation } of found) {
    add(entry.name, token, 'primary')
    if (implementation !== undefined)
      notes.set(
        `tokens[0].addresses.${entry.name}`,
        `a proxy (EIP-1967); its code is at ${showAddress(implementation)} today`,
      )
  }
  for (const { entry, quotes, rewards } of found) {
    for (const quote of quotes) {
      const index = add(entry.name, quote.token, 'reward')
      const listed = entries[index]
      if (listed === undefined || listed.price !== undefined || listed.role === 'primary') continue
      listed.price = quote.price
      for (const [field, note] of describeFloor(
        `tokens[${index}].price`,
        quote.evidence,
        quote.floor,
      ))
        notes.set(field, note)
    }
    for (const reward of rewards) add(entry.name, reward, 'reward')
  }
  const symbolOf = (chain: string, address: Address) => symbols.get(`${chain} ${address}`)
  pricePrimary(found, { entries, notes, symbolOf })
  return { entries, notes, symbolOf }
}

function newEntry(entries: TokenEntry[], facts: TokenFacts, role: TokenEntry['role']): TokenEntry {
  const isTaken = (symbol: string) =>
    entries.some((each) => each.symbol.toUpperCase() === symbol.toUpperCase())
  let symbol = facts.symbol
  for (let count = 2; isTaken(symbol); count += 1) symbol = `${facts.symbol.slice(0, 13)}-${count}`
  const entry = { symbol, name: facts.name, role, decimals: facts.decimals, addresses: {} }
  entries.push(entry)
  return entry
}

/** Overwritten by a pool, which says what the market pays. */
function priceShares(found: readonly Findings[], { entries, notes, symbolOf }: Tokens): void {
  const [primary] = entries
  const vault = found.find(({ vaultAsset }) => vaultAsset !== undefined)
  const { entry, token, vaultAsset: asset } = vault ?? {}
  if (!primary || !entry || !token || !asset) return
  const quote = symbolOf(entry.name, asset.address) ?? asset.symbol
  primary.price = { kind: 'erc4626', chain: entry.name, address: showAddress(token.address), quote }
  notes.set('tokens[0].price', `what the last deposit or withdrawal paid for a share, in ${quote}`)
}

function pricePrimary(found: readonly Findings[], { entries, notes, symbolOf }: Tokens): void {
  const [primary] = entries
  const depthOf = ({ pools }: Findings) => pools.at(-1)?.usd ?? -1
  const [best] = [...found].sort((a, b) => depthOf(b) - depthOf(a))
  if (primary !== undefined) priceShares(found, { entries, notes, symbolOf })
  if (primary === undefined || best === undefined || best.pools.length === 0) return
  const { name: chain } = best.entry
  const sources = best.pools.map(({ pool, floor, since }) => ({
    kind: pool.kind,
    ...(since !== null && { since }),
    chain,
    address: showAddress(pool.address),
    quote: symbolOf(chain, pool.quote.address) ?? pool.quote.symbol,
    ...floor.member,
  }))
  const [only, ...others] = sources
  if (only === undefined) return
  primary.price = others.length > 0 ? sources : only
  for (const [index, { usd, floor }] of best.pools.entries()) {
    const field = others.length > 0 ? `tokens[0].price[${index}]` : 'tokens[0].price'
    const next = best.pools[index + 1]?.since
    const when = next ? ` before block ${next}, the first event of the next` : ''
    const evidence = `the deepest pool${when}: about ${Math.round(usd)} USD of ${sources[index]?.quote} in it`
    for (const [path, note] of describeFloor(field, evidence, floor)) notes.set(path, note)
  }
}

function listPayouts(
  found: readonly Findings[],
  tokens: Tokens,
  notes: Map<string, string>,
): Pick<EcosystemFile, EventPart> {
  const lists = eventKinds.map(({ part }) => {
    const own = found.flatMap(({ entry, payouts }) =>
      payouts.filter(({ known }) => known.part === part).map((payout) => ({ entry, payout })),
    )
    const entries = own.map(({ entry, payout }, index) => {
      const { known, address, event } = payout
      notes.set(`${part}[${index}]`, describePayout(payout))
      const token = payout.tokens.flatMap((each) => tokens.symbolOf(entry.name, each) ?? [])[0]
      return {
        ...{ chain: entry.name, address: showAddress(address), event },
        ...(known.mapping.tokenArgument === undefined && token && { token }),
        ...known.mapping,
      }
    })
    return [part, entries] as const
  })
  return Object.fromEntries(lists.filter(([, entries]) => entries.length > 0))
}

function describePayout({ count, lastBlock, from, until }: Payout): string {
  return `${countOf(count, 'event')} in blocks ${from} to ${until}, the last in ${lastBlock}`
}

const PAYMENT_NOTE = 'asset and domain as the contract has them: check the address'
const CONFIRMATIONS = 10

/** Drafts payment on base if that is one of the chains, else on the first with the asset. */
function draftPayment(
  found: readonly Findings[],
  payTo: Address,
  today: string,
): EcosystemFile['payment'] {
  const able = found.filter(({ asset }) => asset !== undefined)
  const chosen = able.find(({ entry }) => entry.name === 'base') ?? able[0]
  if (chosen?.asset === undefined) return undefined
  const { token, domain } = chosen.asset
  return {
    chain: chosen.entry.name,
    asset: showAddress(token.address),
    symbol: token.symbol,
    domain,
    confirmations: CONFIRMATIONS,
    payTo: [{ address: showAddress(payTo), since: today }],
  }
}

interface DraftedGate {
  readonly gate?: EcosystemFile['gate']
  readonly note?: string
  readonly questions: readonly Question[]
}

/**
 * Minting needs a price that one trade cannot move; a pool's average over half an hour serves. Where the price
 * rests on a guess, or there is none, the operator decides who may mint.
 */
function draftGate(found: readonly Findings[], { entries }: Tokens): DraftedGate {
  const [primary] = entries
  const price = [primary?.price ?? []].flat().at(-1)
  if (price === undefined || !('chain' in price)) {
    const text = `left out, so no keys are minted: ${primary?.symbol} has no price that a holding could be measured by. To let any wallet mint a key:`
    return { questions: [{ path: 'gate', text, entry: 'open' }] }
  }
  const chain = found.find(({ entry }) => entry.name === price.chain)
  const depth = typeof chain?.entry.finality === 'number' ? chain.entry.finality : GATE_DEPTH_BLOCKS
  const gate = {
    chain: String(price.chain),
    minimumUsd: '100',
    depthBlocks: Math.min(depth, GATE_DEPTH_BLOCKS),
    averagePriceMinutes: AVERAGE_PRICE_MINUTES,
  }
  const quote = chain?.pools.at(-1)?.pool.quote
  const isProven = chain?.quotes.some(
    (each) => each.token.address === quote?.address && each.isProven,
  )
  const note = 'what a wallet must hold to mint a key; 100 USD is a default, not a finding'
  if (isProven) return { gate, note, questions: [] }
  const text = `left out, so no keys are minted: the price of ${primary?.symbol} rests on a stablecoin that is known by its symbol alone. If its address is right, add this; 100 USD is a default, not a finding:`
  return { questions: [{ path: 'gate', text, entry: gate }] }
}
