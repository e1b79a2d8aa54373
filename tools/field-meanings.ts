import { eventKinds } from '#data/kinds.ts'
import { priceKinds } from '#ecosystem/price-kinds.ts'

/** What a field means, and the value that a missing one stands for. */
export interface FieldMeaning {
  readonly meaning: string
  /** As in JSON; a test compares the defaults with the code. */
  readonly default?: unknown
}

const says = (meaning: string, value?: unknown): FieldMeaning => ({ meaning, default: value })

const ofEvents = eventKinds.flatMap(({ part, meaning, meanings }) => [
  [part, says(meaning)],
  ...Object.entries(meanings).map(([name, text]) => [`${part}[].${name}`, says(text)]),
])

const ofPrices = priceKinds.flatMap(({ meanings }) =>
  Object.entries(meanings).map(([name, text]) => [`tokens[].price.${name}`, says(text)]),
)

/** By path; `<events>` is any list of events, `<tier>` any tier. */
export const fieldMeanings: Readonly<Record<string, FieldMeaning>> = {
  ...Object.fromEntries([...ofEvents, ...ofPrices]),
  service: says('The service as its callers see it.'),
  'service.name': says(
    'The title of signed messages, of the page and of the documents. A new name ends messages signed for the old one.',
  ),
  'service.keyPrefix': says('The beginning of every API key.'),
  'service.publicBaseUrl': says('The URL that callers use. All absolute URLs come from it.'),
  'service.pricingDocsUrl': says(
    'The link in a 402. Default: the pricing section of `/scalar/v1`.',
  ),
  'service.colors': says('Colors of the page, its charts and badges. Default: the house style.'),
  'service.colors.chains': says('Colors of the chains in charts, in the order of `chains`.'),
  'service.colors.chains[].light': says('On a light page.'),
  'service.colors.chains[].dark': says('On a dark page.'),
  'service.colors.accent': says('The accent of the page and of its charts.'),
  'service.colors.accent.light': says('On a light page.'),
  'service.colors.accent.dark': says('On a dark page.'),
  'service.links': says('External links on the page.'),
  'service.links.trade': says('Where the token is bought; shown to a wallet below the gate.'),
  'service.links.website': says("The ecosystem's website."),
  'service.links.community': says('Its forum or chat.'),
  'service.words': says('What the page calls `graveDigs`, if not graves.'),
  'service.words.graveDig': says('A single event, instead of `Grave dug`.'),
  'service.words.graveDigs': says('Several events, instead of `Graves dug`.'),
  'service.words.dig': says('The noun, instead of `dig`; its plural has an s.'),
  'service.words.digger': says('The wallet, instead of `digger`; its plural has an s.'),

  chains: says('The chains that the service follows. Other entries refer to them by name.'),
  'chains[].name': says('How the file, the API and `/readyz` call the chain. Unique.'),
  'chains[].id': says('The chain id of EIP-155, compared with what the endpoints say. Unique.'),
  'chains[].rpcUrls': says(
    'JSON-RPC endpoints, the preferred one first. Logs and metrics name the host only.',
  ),
  'chains[].explorerUrl': says(
    'A block explorer, for the links to transactions in answers and on the page.',
  ),
  'chains[].startBlock': says(
    'Where history begins: at or before the first transfer of the tokens. A later one is refused.',
  ),
  'chains[].pollIntervalMs': says(
    'How often the head is read. Half the block time is a good start, once a block on a metered plan.',
  ),
  'chains[].finality': says(
    '`"tag"` where the nodes know `safe` and `finalized`, else the depth in blocks after which a block is final.',
  ),
  'chains[].staleAfterSeconds': says(
    'Answers call the chain stale once its newest block is this old.',
  ),
  'chains[].proofs': says(
    'Which logs of new blocks are proven by receipts. `"deposits"`: payments only, for nodes without `eth_getBlockReceipts`.',
    'every',
  ),

  tokens: says('All tokens that the file refers to, tokens of prices included.'),
  'tokens[].symbol': says('How the file and the API call the token. Unique, whatever its case.'),
  'tokens[].name': says('The name that people see.'),
  'tokens[].role': says(
    'One token is `primary`, at most one `secondary`; every transfer of these is followed. Any number are `reward`.',
  ),
  'tokens[].decimals': says(
    'Compared with the contracts. List a token again, under another symbol, for a chain where it has others.',
  ),
  'tokens[].addresses': says(
    'The contract on each chain that has the token, by the name of the chain. `"native"`: the coin of the chain, a reward token with 18 decimals and no balances here; payouts name it as `0x0000…` or `0xEeee…`.',
  ),
  'tokens[].price': says(
    'Where the price comes from: one source, or a list with the oldest first. Without it, the token has no dollar values.',
  ),
  'tokens[].price.kind': says('How the price is read; the other fields depend on it.'),
  'tokens[].price.since': says(
    'In a list: the block of its chain, or the day (UTC), from which the source counts. Until its first event after that, the source before it holds.',
  ),
  'tokens[].price.chain': says('The chain of the pool, vault or feed.'),
  'tokens[].price.address': says(
    'The contract that emits the events. For Chainlink the proxy, whose aggregators are found and followed, or one aggregator.',
  ),
  'tokens[].price.quote': says('A listed token with a price of its own.'),
  'tokens[].price.wrapped': says(
    'For the coin: most pools hold a token that wraps it. Both sides of the pool are compared with it.',
  ),
  'tokens[].price.minLiquidityUsd': says(
    'There is no price while both sides of the pool together are worth less, because a nearly empty pool can have any price. For Uniswap, its forks and Solidly only.',
  ),
  'tokens[].bridges': says(
    'Bridges that mint and burn the token. A mint or burn that comes with a bridge event moves tokens between chains: it counts as neither burned nor newly minted.',
  ),
  'tokens[].bridges[].chain': says('The chain of the contract.'),
  'tokens[].bridges[].address': says('The contract that emits the event.'),
  'tokens[].bridges[].event': says(
    'The event that comes with each mint or burn, in the same transaction.',
  ),
  'tokens[].bridges[].amount': says(
    'The argument that holds the amount, in base units, equal to that of the mint or burn.',
  ),
  'tokens[].bridges[].where': says(
    'Which of the events count, as in mappings. For a bridge of several tokens, select this one: otherwise moving any token there hides a burn of the same amount.',
  ),

  supply: says('Addresses whose tokens do not circulate.'),
  'supply.burnAddresses': says(
    'Transfers to these count as burned, like those to the zero address, which need not be listed.',
  ),
  'supply.nonCirculating': says(
    'Addresses whose balance is left out of the circulating supply and of the holders, such as a treasury.',
  ),
  'supply.nonCirculating[].address': says('The address.'),
  'supply.nonCirculating[].label': says('What it is, for readers of the file.'),

  '<events>[].chain': says('The chain of the contract.'),
  '<events>[].address': says(
    'The contract that emits the event. Needed unless `contracts` finds them.',
  ),
  '<events>[].contracts': says(
    'Contracts that a factory makes emit the event, instead of `address`. Each counts from the block in which it was made; the first 100,000 are followed. Not for burns, nor with `rows`.',
  ),
  '<events>[].contracts.factory': says(
    'The contract that emits an event for each contract it makes.',
  ),
  '<events>[].contracts.event': says('That event, as Solidity writes it.'),
  '<events>[].contracts.argument': says('Its argument that holds the address of the new contract.'),
  '<events>[].event': says('The event, as Solidity writes it.'),
  '<events>[].token': says(
    'The token of the amounts, by symbol; needed unless an argument names it.',
  ),
  '<events>[].where': says(
    'Filter by argument: accepted values (a text or a list), or refused ones: `{ not: … }`. On `Transfer`, it can narrow the burns but never widen them.',
  ),
  '<events>[].amount': says(
    'The argument that holds the amount, in base units. Needed unless `rows` decides it.',
  ),
  '<events>[].rows': says(
    'A module next to the file that decides which logs count, and their rows: [mappings as code](mappings-as-code.md). Leave out the fields it decides.',
  ),
  '<events>[].with': says(
    'Events whose logs the module sees too, if they are of the same transaction. For `rows` only.',
  ),
  '<events>[].with[].address': says(
    'The contract that emits them; without it, that of the mapping.',
  ),
  '<events>[].with[].event': says('The event, as Solidity writes it.'),
  '<events>[].tokenArgument': says(
    "The argument that holds the token's address, instead of `token`. The token must be listed.",
  ),

  payment: says(
    'How calls beyond the quota are paid. Without it they are refused with 429 until 00:00 UTC.',
  ),
  'payment.chain': says('The chain that payments are made on.'),
  'payment.asset': says(
    'The contract of the asset, a dollar token with 6 decimals such as USDC. Compared with the chain.',
  ),
  'payment.symbol': says('How answers and the page call the asset.'),
  'payment.domain': says(
    'The EIP-712 domain of the asset, which x402 clients sign for. Compared with the chain.',
  ),
  'payment.domain.name': says("The domain's name, such as `USD Coin`."),
  'payment.domain.version': says("The domain's version, such as `2`."),
  'payment.confirmations': says(
    'Blocks on top of a deposit before it is credited; 0 on local chains only. The same for every process.',
  ),
  'payment.settle': says(
    'Who settles x402 payments. Default: this service, if `SEXTON_SETTLING_KEY_FILE` is set. Setting both is refused.',
  ),
  'payment.settle.facilitator': says('The https URL of an x402 facilitator.'),
  'payment.payTo': says(
    'Wallets that receive payments, the oldest first. All are credited, offers show the newest. To change the wallet, add an entry.',
  ),
  'payment.payTo[].address': says('The wallet.'),
  'payment.payTo[].since': says(
    'The first day of the wallet; later than that of the entry before.',
  ),

  quotas: says('Free calls per UTC day. A tier that is missing has its default.'),
  'quotas.<tier>': says('Free calls of this tier.'),
  pricePerCallUsd: says('What a call beyond the quota costs; at most 6 decimals.', '0.0001'),
  gate: says(
    'What a wallet must hold of the primary and secondary token to mint a key. `"open"`: any wallet may. Without it no keys are minted.',
  ),
  'gate.chain': says('The chain of the balances.'),
  'gate.minimumUsd': says('The least value of both tokens together; exactly this much passes.'),
  'gate.depthBlocks': says(
    'How many blocks below the head balances are read; at most `finality`, if that is a depth.',
  ),
  'gate.averagePriceMinutes': says(
    'The minutes over which prices are averaged, so that one block cannot move them.',
  ),
  '<tier>': says(
    "The share of a token's supply, over all its chains, that makes a wallet `<tier>`. Without it, no wallet is.",
  ),
  '<tier>.token': says('The primary or the secondary token. Without it, the secondary.'),
  '<tier>.supplyPerMille': says('The share in thousandths: 1 is 0.1%.'),
  '<tier>.depthBlocks': says(
    "How many blocks below the head balances are read. Default: the gate's, else 10.",
  ),
}
