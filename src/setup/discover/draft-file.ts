import { type Address, showAddress, ZERO_ADDRESS } from '#domain/address.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import type { BurnHabit } from './burn-habits.ts'
import { SetupError } from './chain-view.ts'
import type { Findings } from './inspect-chain.ts'
import type { Payout } from './payouts.ts'
import type { TokenFacts } from './token-facts.ts'

/** An ecosystem file and why each guess was made, by path such as `chains[0].startBlock`. */
export interface Draft {
  readonly file: EcosystemFile
  readonly notes: ReadonlyMap<string, string>
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
  const burnt = found.filter(({ burns }) => burns.length > 0)
  const dead = [...new Set(burnt.flatMap(({ burns }) => burns.map(({ to }) => to)))].filter(
    (each) => each !== ZERO_ADDRESS,
  )
  const burns = burnt.map((each) => burnEntry(each, tokens))
  for (const [index, each] of burnt.entries())
    notes.set(`burns[${index}]`, each.burns.map(describeBurns).join('; '))
  const payouts = listPayouts(found, tokens, notes)
  const payment = answers.payTo && draftPayment(found, answers.payTo, answers.today)
  if (payment) notes.set('payment', PAYMENT_NOTE)
  if (answers.payTo && payment === undefined)
    throw new SetupError(
      `--pay-to: no USDC was found on ${chains.map(({ name }) => name).join(', ')}; leave it out, and add "payment" by hand`,
    )
  const file: EcosystemFile = {
    service: {
      name: answers.serviceName,
      keyPrefix: 'svc',
      publicBaseUrl: answers.publicBaseUrl,
    },
    chains,
    tokens: tokens.entries,
    ...(dead.length > 0 && { supply: { burnAddresses: dead.map(showAddress) } }),
    ...(burns.length > 0 && { burns }),
    ...payouts,
    ...(payment && { payment }),
    ...draftGate(found, tokens, notes),
  }
  return { file, notes }
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
      notes.set(`tokens[${index}].price`, quote.evidence)
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

function pricePrimary(found: readonly Findings[], { entries, notes, symbolOf }: Tokens): void {
  const [primary] = entries
  const [best] = found
    .filter(({ pool }) => pool !== undefined)
    .sort((a, b) => (b.pool?.usd ?? 0) - (a.pool?.usd ?? 0))
  if (primary === undefined || best?.pool === undefined) return
  const { pool, usd } = best.pool
  const quote = symbolOf(best.entry.name, pool.quote.address)
  if (quote === undefined) return
  const address = showAddress(pool.address)
  primary.price = { kind: pool.kind, chain: best.entry.name, address, quote }
  notes.set('tokens[0].price', `the deepest pool: about ${Math.round(usd)} USD of ${quote} in it`)
}

const TRANSFER_EVENT = 'event Transfer(address indexed from, address indexed to, uint256 value)'

function burnEntry({ entry, token }: Findings, { symbolOf }: Tokens) {
  return {
    chain: entry.name,
    address: showAddress(token.address),
    token: symbolOf(entry.name, token.address) ?? token.symbol,
    event: TRANSFER_EVENT,
    from: 'from',
    to: 'to',
    amount: 'value',
  }
}

function describeBurns({ to, count, lastBlock, from, until }: BurnHabit): string {
  const receiver = to === ZERO_ADDRESS ? 'the zero address' : showAddress(to)
  return `${count} transfers to ${receiver} in blocks ${from} to ${until}, the last in ${lastBlock}`
}

function listPayouts(
  found: readonly Findings[],
  tokens: Tokens,
  notes: Map<string, string>,
): Pick<EcosystemFile, 'dividends' | 'graveDigs'> {
  const dividends: NonNullable<EcosystemFile['dividends']> = []
  const graveDigs: NonNullable<EcosystemFile['graveDigs']> = []
  for (const { entry, payouts } of found)
    for (const payout of payouts) {
      const common = {
        chain: entry.name,
        address: showAddress(payout.address),
        event: payout.event,
      }
      const token = payout.tokens.flatMap((each) => tokens.symbolOf(entry.name, each) ?? [])[0]
      const { known } = payout
      const list = known.part === 'dividends' ? dividends : graveDigs
      notes.set(`${known.part}[${list.length}]`, describePayout(payout))
      if (known.part === 'dividends') {
        const { part: _, signature: __, ...members } = known
        const named = members.tokenArgument === undefined && token ? { token } : {}
        dividends.push({ ...common, ...named, ...members })
      } else {
        const { part: _, signature: __, ...members } = known
        graveDigs.push({ ...common, ...(token && { token }), ...members })
      }
    }
  return {
    ...(dividends.length > 0 && { dividends }),
    ...(graveDigs.length > 0 && { graveDigs }),
  }
}

function describePayout({ count, lastBlock, from, until }: Payout): string {
  return `${count} events in blocks ${from} to ${until}, the last in ${lastBlock}`
}

const PAYMENT_NOTE = 'asset and domain as the contract has them: check the address'
const CONFIRMATIONS = 10

/** On base where that is one of the chains, else on the first that has the asset. */
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

/** Minting needs a price that one trade cannot move; a pool's average over half an hour serves. */
function draftGate(
  found: readonly Findings[],
  { entries }: Tokens,
  notes: Map<string, string>,
): Pick<EcosystemFile, 'gate'> {
  const price = entries[0]?.price
  if (price === undefined || !('chain' in price)) {
    notes.set('gate', 'no price was found, so any wallet may mint a key')
    return { gate: 'open' }
  }
  const chain = found.find(({ entry }) => entry.name === price.chain)?.entry
  const depth = typeof chain?.finality === 'number' ? chain.finality : GATE_DEPTH_BLOCKS
  notes.set('gate', 'what a wallet must hold to mint a key; 100 USD is a default, not a finding')
  return {
    gate: {
      chain: String(price.chain),
      minimumUsd: '100',
      depthBlocks: Math.min(depth, GATE_DEPTH_BLOCKS),
      averagePriceMinutes: AVERAGE_PRICE_MINUTES,
    },
  }
}
