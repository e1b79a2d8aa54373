import { type Address, showAddress, ZERO_ADDRESS } from '#base/address.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { SetupError, type TokenFacts } from '#ops/setup/chain-view.ts'
import type { Findings } from '#ops/setup/inspect-chain.ts'
import { DEAD_ADDRESS } from '#ops/setup/list-events.ts'

/** An ecosystem file and why each guess was made, by path such as `chains[0].startBlock`. */
export interface Draft {
  readonly file: EcosystemFile
  readonly notes: ReadonlyMap<string, string>
  readonly questions: readonly DraftQuestion[]
  /** What no part of the file says. */
  readonly remarks: readonly string[]
}

/** An entry that only the operator can decide on. */
interface DraftQuestion {
  /** The field, or the list that it would be an entry of, such as `burns`. */
  readonly path: string
  readonly text: string
  readonly entry: object | string
}

export interface Answers {
  readonly serviceName: string
  readonly publicBaseUrl: string
  readonly payTo: Address | undefined
  /** `YYYY-MM-DD`, from when payments count. */
  readonly today: string
}

type TokenEntry = EcosystemFile['tokens'][number]
type BurnEntry = NonNullable<EcosystemFile['burns']>[number]

/** `symbolOf` is needed because two contracts may share a symbol. */
interface Tokens {
  readonly entries: TokenEntry[]
  readonly notes: Map<string, string>
  symbolOf(chain: string, address: Address): string | undefined
}

const PAYMENT_NOTE = 'asset and domain as the contract has them: check the address'

/** `second`: what was found of the secondary token, if there is one. */
export function draftFile(
  found: readonly Findings[],
  answers: Answers,
  second: readonly Findings[] = [],
): Draft {
  const tokens = listTokens(found, second)
  const both = [...found, ...second]
  const notes = new Map(tokens.notes)
  const chains = found.map(({ entry }) => {
    const others = second.filter((each) => each.entry.name === entry.name)
    const startBlock = Math.min(entry.startBlock, ...others.map((each) => each.entry.startBlock))
    return { ...entry, startBlock }
  })
  for (const [index, each] of found.entries())
    for (const [field, note] of Object.entries(each.notes))
      notes.set(`chains[${index}].${field}`, note)
  const burns = both.filter(({ isShare }) => !isShare).map((each) => burnEntry(each, tokens))
  for (const index of burns.keys()) notes.set(`burns[${index}]`, BURNS_NOTE)
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
    supply: { burnAddresses: [showAddress(DEAD_ADDRESS)] },
    ...(burns.length > 0 && { burns }),
    ...(payment && { payment }),
  }
  const shares = both.filter(({ isShare }) => isShare)
  const questions = [
    ...both.flatMap((each) => askAboutBurnEvents(each, tokens)),
    ...shares.map((each) => askAboutShares(each, tokens)),
    askAboutGate(found, file),
  ]
  return { file, notes, questions, remarks: describeRest(found, second, file) }
}

const BURNS_NOTE =
  'transfers to the zero address and to supply.burnAddresses; leave it out if nobody burns this token'

function burnEntry({ entry, token }: Findings, { symbolOf }: Tokens): BurnEntry {
  return {
    chain: entry.name,
    address: showAddress(token.address),
    token: symbolOf(entry.name, token.address) ?? token.symbol,
    event: 'event Transfer(address indexed from, address indexed to, uint256 value)',
    from: 'from',
    to: 'to',
    amount: 'value',
  }
}

function askAboutBurnEvents(each: Findings, tokens: Tokens): readonly DraftQuestion[] {
  const { chain, address, token } = burnEntry(each, tokens)
  return each.events.burnEvents.map((event) => ({
    path: 'burns',
    text: `${each.token.symbol} emits this event. If it stands for burns that no Transfer to the zero address shows, write it instead of the Transfer entry above, since both would count twice:`,
    entry: { chain, address, token, event, from: 'account', amount: 'amount' },
  }))
}

function askAboutShares(each: Findings, tokens: Tokens): DraftQuestion {
  const text = `${each.token.symbol} is a share of a vault (ERC-4626): a share burns whenever its holder takes the asset out. If these are burns all the same, leave "where" out:`
  const entry = { ...burnEntry(each, tokens), where: { to: { not: ZERO_ADDRESS } } }
  return { path: 'burns', text, entry }
}

function describeRest(
  found: readonly Findings[],
  second: readonly Findings[],
  { tokens: [primary] }: EcosystemFile,
): readonly string[] {
  const places = [...new Set(found.map(({ entry }) => entry.name))].join(', ')
  const price = `no pool of ${primary?.symbol} whose other side has a price was found on ${places}: figures in dollars stay null; name a pool with --contract 0x…, or write "price" by hand`
  return [
    ...(primary?.price === undefined ? [price] : []),
    ...[...found, ...second].flatMap(({ token, entry, events: { withoutBurns } }) =>
      withoutBurns === undefined
        ? []
        : `No burn of ${token.symbol} was found on ${entry.name} in ${withoutBurns}. Transfers to the zero address and to 0x…dEaD will count; add others to "burnAddresses".`,
    ),
    'Does a contract pay holders, do they dig, or does a bridge mint and burn? Add "dividends", "graveDigs" or "bridges" of the token: docs/ecosystem-file.md. Name such contracts with --contract 0x… to see what they emit. Lately:',
    ...found.flatMap(({ events }) => events.lines),
    // The named contracts are the same for both tokens.
    ...second.flatMap(({ token, events }) =>
      events.lines.filter((line) => line.startsWith(showAddress(token.address))),
    ),
  ]
}

function listTokens(found: readonly Findings[], second: readonly Findings[]): Tokens {
  const entries: TokenEntry[] = []
  const notes = new Map<string, string>()
  const symbols = new Map<string, string>()
  const add = (chain: string, facts: TokenFacts, role: TokenEntry['role']): TokenEntry => {
    const isSame = ({ symbol }: TokenEntry) => symbol.toUpperCase() === facts.symbol.toUpperCase()
    const entry =
      entries.find(({ symbol }) => symbol === symbols.get(`${chain} ${facts.address}`)) ??
      entries.find(
        (each) =>
          isSame(each) && each.decimals === facts.decimals && each.addresses[chain] === undefined,
      ) ??
      newEntry(entries, facts, role)
    entry.addresses[chain] = showAddress(facts.address)
    symbols.set(`${chain} ${facts.address}`, entry.symbol)
    return entry
  }
  for (const { entry, token } of found) add(entry.name, token, 'primary')
  for (const { entry, token } of second) add(entry.name, token, 'secondary')
  for (const { entry, quotes } of [...found, ...second])
    for (const quote of quotes) {
      const listed = add(entry.name, quote.token, 'reward')
      if (listed.price !== undefined || listed.role !== 'reward') continue
      listed.price = quote.price
      notes.set(`tokens[${entries.indexOf(listed)}].price`, quote.evidence)
    }
  const symbolOf = (chain: string, address: Address) => symbols.get(`${chain} ${address}`)
  priceByPool(found, 'primary', { entries, notes, symbolOf })
  priceByPool(second, 'secondary', { entries, notes, symbolOf })
  return { entries, notes, symbolOf }
}

function newEntry(entries: TokenEntry[], facts: TokenFacts, role: TokenEntry['role']): TokenEntry {
  const taken = entries.map((each) => each.symbol.toUpperCase())
  let { symbol } = facts
  for (let count = 2; taken.includes(symbol.toUpperCase()); count += 1)
    symbol = `${facts.symbol.slice(0, 13)}-${count}`
  const entry = { symbol, name: facts.name, role, decimals: facts.decimals, addresses: {} }
  entries.push(entry)
  return entry
}

function priceByPool(
  found: readonly Findings[],
  role: TokenEntry['role'],
  { entries, notes, symbolOf }: Tokens,
): void {
  const index = entries.findIndex((each) => each.role === role)
  const token = entries[index]
  const [best] = [...found].sort((a, b) => (b.pool?.usd ?? -1) - (a.pool?.usd ?? -1))
  if (token === undefined || best?.pool === undefined) return
  const { pool, usd, floor } = best.pool
  const { name: chain } = best.entry
  const quote = symbolOf(chain, pool.quote.address) ?? pool.quote.symbol
  const address = showAddress(pool.address)
  token.price = { kind: pool.kind, chain, address, quote, ...floor.member }
  notes.set(
    `tokens[${index}].price`,
    `the deepest pool: about ${Math.round(usd)} USD of ${quote} in it; ${floor.evidence}`,
  )
}

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

const AVERAGE_PRICE_MINUTES = 30
const GATE_DEPTH_BLOCKS = 10

/** The operator decides who may mint: a pool's average over half an hour is a price that one trade cannot move. */
function askAboutGate(
  found: readonly Findings[],
  { tokens: [primary] }: EcosystemFile,
): DraftQuestion {
  const [price] = [primary?.price ?? []].flat()
  if (price === undefined || !('chain' in price)) {
    const text = `left out, so no keys are minted: ${primary?.symbol} has no price that a holding could be measured by. To let any wallet mint a key:`
    return { path: 'gate', text, entry: 'open' }
  }
  const chain = found.find(({ entry }) => entry.name === price.chain)
  const depth = typeof chain?.entry.finality === 'number' ? chain.entry.finality : GATE_DEPTH_BLOCKS
  const gate = {
    chain: String(price.chain),
    minimumUsd: '100',
    depthBlocks: Math.min(depth, GATE_DEPTH_BLOCKS),
    averagePriceMinutes: AVERAGE_PRICE_MINUTES,
  }
  const text =
    'left out, so no keys are minted. To let wallets mint a key that hold so much, once the prices above are checked:'
  return { path: 'gate', text, entry: gate }
}
