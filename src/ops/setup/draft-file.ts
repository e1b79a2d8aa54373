import { type Address, showAddress } from '#base/address.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { SetupError, type TokenFacts } from '#ops/setup/chain-view.ts'
import type { Findings } from '#ops/setup/inspect-chain.ts'

/** An ecosystem file and why each guess was made, by path such as `chains[0].startBlock`. */
export interface Draft {
  readonly file: EcosystemFile
  readonly notes: ReadonlyMap<string, string>
  /** What only the operator can decide on. */
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

const DEAD_ADDRESS = '0x000000000000000000000000000000000000dead'

const BURNS_NOTE =
  'transfers to the zero address and to supply.burnAddresses; leave it out if nobody burns this token, or if it is a share of a vault, which burns whenever its holder takes the asset out'

const PAYMENT_NOTE = 'asset and domain as the contract has them: check the address'

/** `found`: what the chains show, at least one. */
export function draftFile(
  found: readonly [Findings, ...Findings[]],
  { serviceName, publicBaseUrl, payTo, today }: Answers,
): Draft {
  const notes = new Map<string, string>()
  for (const [index, each] of found.entries())
    for (const [field, note] of Object.entries(each.notes))
      notes.set(`chains[${index}].${field}`, note)
  const tokens = draftTokens(found, notes)
  const { symbol } = found[0].token
  const burns = found.map(({ entry, token }) => ({
    chain: entry.name,
    address: showAddress(token.address),
    token: symbol,
    event: 'event Transfer(address indexed from, address indexed to, uint256 value)',
    from: 'from',
    to: 'to',
    amount: 'value',
  }))
  notes.set('burns[0]', BURNS_NOTE)
  const payment = payTo && draftPayment(found, payTo, today)
  if (payment) notes.set('payment', PAYMENT_NOTE)
  const file: EcosystemFile = {
    service: { name: serviceName, keyPrefix: 'svc', publicBaseUrl },
    chains: found.map(({ entry }) => entry),
    tokens,
    supply: { burnAddresses: [showAddress(DEAD_ADDRESS)] },
    burns,
    ...(payment && { payment }),
  }
  return { file, notes, remarks: [remarkOnGate(found, tokens[0]), REST] }
}

const REST =
  'Does a contract pay holders, do they dig, does a bridge mint and burn, or is there a second token? Add "dividends", "graveDigs", "bridges" of the token, or a token with the role "secondary": docs/ecosystem-file.md.'

/** The token, and what its deepest pool is priced in. */
function draftTokens(
  found: readonly [Findings, ...Findings[]],
  notes: Map<string, string>,
): TokenEntry[] {
  const [{ token }] = found
  const everywhere = found.map((each) => [each.entry.name, showAddress(each.token.address)])
  const primary = { ...toEntry(token, 'primary'), addresses: Object.fromEntries(everywhere) }
  const depthOf = ({ price }: Findings) => price?.depthUsd ?? -1
  const [best] = found.toSorted((one, other) => depthOf(other) - depthOf(one))
  const { path } = best?.price ?? {}
  if (best === undefined || path === undefined) return [primary]
  const symbols = makeUnique(path.map((each) => each.token.symbol))
  return path.map(({ token: each, price, evidence }, index) => {
    notes.set(`tokens[${index}].price`, evidence)
    const symbol = symbols[index] ?? each.symbol
    const quote = symbols[index + 1]
    const addresses = { [best.entry.name]: showAddress(each.address) }
    const entry = index === 0 ? primary : { ...toEntry(each, 'reward'), addresses }
    return { ...entry, symbol, price: quote === undefined ? price : { ...price, quote } }
  })
}

/** Two contracts may share a symbol. */
function makeUnique(symbols: readonly string[]): readonly string[] {
  const names = symbols.map((symbol) => symbol.toUpperCase())
  return symbols.map((symbol, index) => {
    const before = names.slice(0, index).filter((name) => name === names[index]).length
    return before === 0 ? symbol : `${symbol.slice(0, 13)}-${before + 1}`
  })
}

function toEntry({ symbol, name, decimals }: TokenFacts, role: TokenEntry['role']) {
  return { symbol, name, role, decimals }
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
  if (chosen?.asset === undefined)
    throw new SetupError(
      `--pay-to: no USDC was found on ${found.map(({ entry }) => entry.name).join(', ')}; leave it out, and add "payment" by hand`,
    )
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

const GATE_DEPTH_BLOCKS = 10

/** A pool's average over half an hour is a price that one trade cannot move. */
function remarkOnGate(found: readonly Findings[], token: TokenEntry | undefined): string {
  const leftOut = '"gate" is left out, so no keys are minted.'
  const [source] = [token?.price ?? []].flat()
  if (source?.chain === undefined)
    return `${leftOut} No pool of ${token?.symbol} whose other side has a price was found: name one with --contract 0x…, or write "price" by hand; figures in dollars stay null meanwhile. To let any wallet mint a key: gate: "open"`
  const chain = found.find(({ entry }) => entry.name === source.chain)
  const finality = chain?.entry.finality
  const depth = typeof finality === 'number' ? finality : GATE_DEPTH_BLOCKS
  const gate = {
    chain: source.chain,
    minimumUsd: '100',
    depthBlocks: Math.min(depth, GATE_DEPTH_BLOCKS),
    averagePriceMinutes: 30,
  }
  return `${leftOut} To let wallets mint a key that hold so much, once the prices above are checked: gate: ${JSON.stringify(gate)}`
}
