// Written by `node tools/client.ts` from the OpenAPI document.
import type { CallOptions, Client } from './call.ts'

/** `error` in the body of an error; each has a page at /problems/{code}. */
export type ProblemCode =
  | 'invalid_parameter'
  | 'invalid_json'
  | 'invalid_body'
  | 'invalid_address'
  | 'invalid_signature_format'
  | 'invalid_cursor'
  | 'invalid_api_key'
  | 'invalid_signature'
  | 'payment_required'
  | 'holding_gate_not_met'
  | 'not_key_owner'
  | 'spending_limit_reached'
  | 'not_found'
  | 'not_configured'
  | 'key_not_found'
  | 'webhook_not_found'
  | 'prepayment_not_found'
  | 'method_not_allowed'
  | 'signature_already_used'
  | 'key_limit_reached'
  | 'webhook_limit_reached'
  | 'payment_already_used'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'message_malformed'
  | 'message_expired'
  | 'message_address_mismatch'
  | 'message_wrong_action'
  | 'key_revoked'
  | 'rate_limited'
  | 'quota_exceeded'
  | 'internal_error'
  | 'metering_unavailable'
  | 'gate_unavailable'
  | 'data_not_ready'
  | 'settlement_pending'

export type Anomaly = {
  /** Its place in the ecosystem file, such as `burns[0]` */
  readonly mapping: string
  readonly chain: string
  readonly logs: number
  readonly lastBlock: number
  readonly reason: string
  /** `unlisted`: about a token that this service does not list */
  readonly kind: 'unreadable' | 'unlisted'
}

export type ApiKey = {
  /** Safe to log and to show. */
  readonly publicId: string
  /** The beginning of the secret: prefix and publicId. */
  readonly prefix: string
  readonly label: string | null
  /** The wallet that owns the key (EIP-55). */
  readonly ownerAddress: string
  readonly tier: 'free' | 'premium'
  readonly status: 'active' | 'revoked'
  readonly createdAt: string
  /** Calls per UTC day, shared by all keys of the wallet. */
  readonly dailyQuota: number
}

export type ApiKeyList = {
  readonly keys: readonly ListedApiKey[]
}

export type Burn = {
  /** <chainId>:<txHash>:<logIndex>, and :<n> after it for row n ≥ 1 that a mapping with code makes of the log */
  readonly id: string
  readonly chain: string
  readonly chainId: number
  readonly blockNumber: number
  readonly txHash: string
  readonly logIndex: number
  readonly timestamp: string
  /** Unix seconds */
  readonly timestampUnix: number
  readonly finality: 'latest' | 'safe' | 'finalized'
  readonly explorerUrl: string | null
  readonly token: string
  /** Token units: no exponent, no trailing zeros */
  readonly amount: string
  /** Base units */
  readonly amountRaw: string
  /** US dollars, at most 6 decimals; null without a price */
  readonly amountUsdAtEvent: number | null
  /** EIP-55 */
  readonly from: string
  /** `burn`: to the zero address; `transfer`: to a burn address */
  readonly method: 'burn' | 'transfer'
}

export type BurnDay = {
  readonly date: string
  /** Unix seconds */
  readonly dateUnix: number
  readonly token: string
  /** A chain, or `all` */
  readonly chain: string
  /** Token units: no exponent, no trailing zeros */
  readonly burned: string
  /** Base units */
  readonly burnedRaw: string
  /** US dollars, at most 6 decimals; null without a price */
  readonly burnedUsdAtEvent: number | null
  /** How many of the events have no dollar value, and are not in the sum */
  readonly unpricedCount: number
  readonly burnCount: number
  /** Token units: no exponent, no trailing zeros */
  readonly cumulative: string
  /** Base units */
  readonly cumulativeRaw: string
  /** False for today */
  readonly complete: boolean
}

export type BurnSums = {
  /** Token units: no exponent, no trailing zeros */
  readonly burned: string
  /** Base units */
  readonly burnedRaw: string
  /** US dollars, at most 6 decimals; null without a price */
  readonly burnedUsdAtEvent: number | null
  /** How many of the events have no dollar value, and are not in the sum */
  readonly unpricedCount: number
  readonly burnCount: number
}

export type BurnTotals = {
  readonly token: string
  readonly totalBurned: string | null
  readonly totalBurnedRaw: string | null
  /** US dollars, at most 6 decimals; null without a price */
  readonly totalBurnedUsdNow: number | null
  /** Of everything newly minted, without bridge moves and mints undone in their transaction; null while the supply is unknown, or if bridges brought all of it */
  readonly pctOfMinted: number | null
  readonly burnCount: number
  readonly last24h: BurnSums
  readonly last7d: BurnSums
  readonly last30d: BurnSums
  readonly firstBurnUnix: number | null
  readonly lastBurnUnix: number | null
  readonly chains: readonly ChainBurns[]
}

export type Chain = {
  readonly name: string
  readonly chainId: number
  readonly caip2: string
  readonly explorerUrl: string | null
}

export type ChainBalance = {
  readonly chain: string
  readonly chainId: number
  /** Token units: no exponent, no trailing zeros */
  readonly balance: string
  /** Base units */
  readonly balanceRaw: string
}

export type ChainBurns = {
  readonly chain: string
  readonly chainId: number
  /** Token units: no exponent, no trailing zeros */
  readonly burned: string
  /** Base units */
  readonly burnedRaw: string
  readonly sharePct: number
  readonly burnCount: number
  readonly lastBurnUnix: number | null
  readonly asOfBlock: number
}

export type ChainStatus = {
  readonly chain: string
  readonly chainId: number
  /** Newest indexed block */
  readonly blockNumber: number
  readonly blockTimeUnix: number
  /** Age of that block */
  readonly lagSeconds: number
  readonly finalizedBlock: number
  readonly status: 'live' | 'syncing' | 'stale'
  /** Why newer blocks of the chain cannot be read; null while they can */
  readonly stalled: 'deep_reorg' | 'unlinked_blocks' | 'unreadable_node' | 'unusable_data' | null
}

export type ClaimSummary = {
  readonly claimCount: number
  /** US dollars, at most 6 decimals; null without a price */
  readonly usdAtClaim: number | null
  /** How many of the events have no dollar value, and are not in the sum */
  readonly unpricedCount: number
  /** US dollars, at most 6 decimals; null without a price */
  readonly usdNow: number | null
  /** How many of the events have no dollar value, and are not in the sum */
  readonly unpricedNowCount: number
  readonly firstClaimUnix: number | null
  readonly lastClaimUnix: number | null
  readonly tokens: readonly TokenClaims[]
}

export type DividendClaim = {
  /** <chainId>:<txHash>:<logIndex>, and :<n> after it for row n ≥ 1 that a mapping with code makes of the log */
  readonly id: string
  readonly chain: string
  readonly chainId: number
  readonly blockNumber: number
  readonly txHash: string
  readonly logIndex: number
  readonly timestamp: string
  /** Unix seconds */
  readonly timestampUnix: number
  readonly finality: 'latest' | 'safe' | 'finalized'
  readonly explorerUrl: string | null
  readonly token: string
  /** Token units: no exponent, no trailing zeros */
  readonly amount: string
  /** Base units */
  readonly amountRaw: string
  /** US dollars, at most 6 decimals; null without a price */
  readonly amountUsdAtEvent: number | null
}

export type DividendTotals = {
  /** US dollars, at most 6 decimals; null without a price */
  readonly totalUsdAtPayout: number | null
  /** How many of the events have no dollar value, and are not in the sum */
  readonly unpricedCount: number
  /** US dollars, at most 6 decimals; null without a price */
  readonly totalUsdNow: number | null
  /** How many of the events have no dollar value, and are not in the sum */
  readonly unpricedNowCount: number
  readonly payoutCount: number
  /** Distinct wallets over all chains and tokens */
  readonly recipientCount: number
  readonly last24h: PayoutSums
  readonly last7d: PayoutSums
  readonly last30d: PayoutSums
  readonly tokens: readonly TokenDividends[]
}

export type Gate = {
  readonly address: string
  readonly canMint: boolean
  /** Null: anyone may mint. */
  readonly requiredUsd: number | null
  readonly heldUsd: number | null
  readonly tokens: readonly GateToken[]
  readonly tier: 'free' | 'premium'
  /** Calls per UTC day that the tier brings. */
  readonly dailyQuota: number
  /** Tiers that ask for a share of the supply. */
  readonly tiers: readonly GateTier[]
}

export type GateTier = {
  readonly tier: string
  readonly dailyQuota: number
  readonly symbol: string
  /** Token units. */
  readonly held: string
  /** Token units. */
  readonly needed: string
  readonly reached: boolean
}

export type GateToken = {
  readonly symbol: string
  /** Token units. */
  readonly amount: string
  /** Time-weighted, as the gate counts. */
  readonly priceUsd: number
  readonly valueUsd: number
}

export type GraveDig = {
  /** <chainId>:<txHash>:<logIndex>, and :<n> after it for row n ≥ 1 that a mapping with code makes of the log */
  readonly id: string
  readonly chain: string
  readonly chainId: number
  readonly blockNumber: number
  readonly txHash: string
  readonly logIndex: number
  readonly timestamp: string
  /** Unix seconds */
  readonly timestampUnix: number
  readonly finality: 'latest' | 'safe' | 'finalized'
  readonly explorerUrl: string | null
  readonly token: string
  /** Token units: no exponent, no trailing zeros */
  readonly amount: string
  /** Base units */
  readonly amountRaw: string
  /** US dollars, at most 6 decimals; null without a price */
  readonly amountUsdAtEvent: number | null
  /** EIP-55 */
  readonly digger: string
  readonly graveId: string | null
}

export type GraveDigSums = {
  readonly count: number
  /** Token units: no exponent, no trailing zeros */
  readonly totalClaimed: string
  /** Base units */
  readonly totalClaimedRaw: string
}

export type Health = {
  readonly status: 'ok'
}

export type Holder = {
  /** Null if excluded */
  readonly rank: number | null
  /** EIP-55 */
  readonly address: string
  readonly token: string
  /** Token units: no exponent, no trailing zeros */
  readonly balance: string
  /** Base units */
  readonly balanceRaw: string
  /** Of the total supply on the chains asked for */
  readonly sharePct: number
  /** A burn address or one that does not circulate: it has no rank and is not counted as a holder */
  readonly excluded: boolean
  /** Start of the first UTC day at whose end it held any; null if none yet */
  readonly firstSeenUnix: number | null
  /** Start of the UTC day of its last transfer of more than 0, on chains where it holds any */
  readonly lastSeenUnix: number | null
}

export type KeyLimits = {
  readonly dailyCapUsd: number | null
  readonly expiresAt: string | null
  /** Of the UTC day, by this key and those that it replaced. */
  readonly spentTodayUsd: number
}

export type KeyMessage = {
  readonly action: string
  /** Sign exactly this text with personal_sign (EIP-191). */
  readonly message: string
  readonly issuedAt: string
}

export type KeyUsage = {
  /** Null: keys beyond the newest 100. */
  readonly publicId: string | null
  /** Charged calls, paid ones included. */
  readonly requestCount: number
  /** The paid part of requestCount. */
  readonly overageCount: number
  /** What the paid calls took from prepaid balances. */
  readonly spentUsd: number
}

export type LabeledApiKey = {
  readonly key: ApiKey
}

export type Leader = {
  readonly rank: number
  /** EIP-55 */
  readonly address: string
  readonly token: string
  /** Token units: no exponent, no trailing zeros */
  readonly totalClaimed: string
  /** Base units */
  readonly totalClaimedRaw: string
  /** US dollars, at most 6 decimals; null without a price */
  readonly totalClaimedUsdNow: number | null
  readonly sharePct: number
  readonly digCount: number
  /** Unix seconds */
  readonly firstDigUnix: number
  /** Unix seconds */
  readonly lastDigUnix: number
}

export type LeakReceipt = {
  readonly received: boolean
}

export type LifetimeDividends = {
  readonly token: string
  /** Token units: no exponent, no trailing zeros */
  readonly amount: string
  /** Base units */
  readonly amountRaw: string
  /** US dollars, at most 6 decimals; null without a price */
  readonly usdAtPayout: number | null
  /** How many of the events have no dollar value, and are not in the sum */
  readonly unpricedCount: number
  /** US dollars, at most 6 decimals; null without a price */
  readonly usdNow: number | null
}

export type Limits = {
  readonly limitMaximum: number
  readonly periodDaysMaximum: number
  readonly bodyBytesMaximum: number
  readonly activeKeysPerWallet: number
  readonly quotaReset: string
}

export type Links = {
  /** Where the token is bought */
  readonly trade: string | null
  /** Of the ecosystem */
  readonly website: string | null
  /** Where its people talk */
  readonly community: string | null
}

export type ListedApiKey = {
  /** Safe to log and to show. */
  readonly publicId: string
  /** The beginning of the secret: prefix and publicId. */
  readonly prefix: string
  readonly label: string | null
  /** The wallet that owns the key (EIP-55). */
  readonly ownerAddress: string
  readonly tier: 'free' | 'premium'
  readonly status: 'active' | 'revoked'
  readonly createdAt: string
  /** Calls per UTC day, shared by all keys of the wallet. */
  readonly dailyQuota: number
  /** The prepaid balance of this key. */
  readonly prepaidBalanceUsd: number
}

export type Meta = {
  readonly asOf: string
  /** Time of the newest indexed block of any chain */
  readonly asOfUnix: number
  /** At least one chain is stale */
  readonly stale: boolean
  readonly chains: readonly ChainStatus[]
  /** What cannot be vouched for. Of dataset `holders`, figures that follow from balances are null; those of other datasets lack logs */
  readonly unknown: readonly UnknownFigure[]
  /** Optional parts that this ecosystem does not configure; their endpoints return zeros and empty lists */
  readonly notConfigured: readonly (
    | 'burns'
    | 'dividends'
    | 'graveDigs'
    | 'payment'
    | 'gate'
    | 'premium'
  )[]
  /** Effective parameters after defaults */
  readonly query: Readonly<Record<string, string | number | null>>
}

export type MovedBalance = {
  readonly fromPublicId: string
  readonly toPublicId: string
  readonly movedUsd: number
}

export type NewApiKey = {
  readonly key: ApiKey
  /** Shown once; only its hash is kept. */
  readonly secret: string
}

export type OneWebhook = {
  readonly webhook: Webhook
}

export type Page = {
  readonly limit: number
  readonly count: number
  readonly nextCursor: string | null
}

export type PagedMeta = {
  readonly asOf: string
  /** Time of the newest indexed block of any chain */
  readonly asOfUnix: number
  /** At least one chain is stale */
  readonly stale: boolean
  readonly chains: readonly ChainStatus[]
  /** What cannot be vouched for. Of dataset `holders`, figures that follow from balances are null; those of other datasets lack logs */
  readonly unknown: readonly UnknownFigure[]
  /** Optional parts that this ecosystem does not configure; their endpoints return zeros and empty lists */
  readonly notConfigured: readonly (
    | 'burns'
    | 'dividends'
    | 'graveDigs'
    | 'payment'
    | 'gate'
    | 'premium'
  )[]
  /** Effective parameters after defaults */
  readonly query: Readonly<Record<string, string | number | null>>
  readonly page: Page
}

export type PaymentRequired = {
  readonly x402Version: 1
  readonly error: 'payment_required'
  readonly errorMessage: string
  readonly accepts: readonly {
    readonly scheme: 'exact'
    /** Name of the chain to pay on. */
    readonly network: string
    /** Contract of the payment asset (EIP-55). */
    readonly asset: string
    readonly assetSymbol: string
    /** Price per call in USD. */
    readonly maxAmountRequired: string
    /** The wallet to pay (EIP-55). */
    readonly payTo: string
    readonly description: string
    readonly docs: string
  }[]
}

export type Payout = {
  /** <chainId>:<txHash>:<logIndex>, and :<n> after it for row n ≥ 1 that a mapping with code makes of the log */
  readonly id: string
  readonly chain: string
  readonly chainId: number
  readonly blockNumber: number
  readonly txHash: string
  readonly logIndex: number
  readonly timestamp: string
  /** Unix seconds */
  readonly timestampUnix: number
  readonly finality: 'latest' | 'safe' | 'finalized'
  readonly explorerUrl: string | null
  readonly token: string
  /** Token units: no exponent, no trailing zeros */
  readonly amount: string
  /** Base units */
  readonly amountRaw: string
  /** US dollars, at most 6 decimals; null without a price */
  readonly amountUsdAtEvent: number | null
  /** `claim`: paid to a wallet; `distribution`: put into the pot, which the totals do not count */
  readonly kind: 'claim' | 'distribution'
  readonly recipient: string | null
}

export type PayoutSums = {
  /** US dollars, at most 6 decimals; null without a price */
  readonly usdAtPayout: number | null
  /** How many of the events have no dollar value, and are not in the sum */
  readonly unpricedCount: number
  readonly payoutCount: number
}

export type Prepayment = {
  readonly id: string
  readonly txHash: string
  /** As claimed; once verified, what the chain shows. */
  readonly amountUsd: number
  readonly verified: boolean
  /** What it means and what to do: /problems/{message}. */
  readonly message:
    | 'pending_verification'
    | 'verified'
    | 'no_matching_transfer'
    | 'payer_not_linked'
    | 'expired'
    | 'reverted_by_reorg'
  readonly status:
    | 'pending'
    | 'confirming'
    | 'verified'
    | 'rejected'
    | 'unlinked'
    | 'expired'
    | 'reversed'
  readonly apiKeyPublicId: string
  readonly payerAddress: string
  readonly creditedUsd: number | null
  /** Blocks on top of the transfer, at most requiredConfirmations. */
  readonly confirmations: number
  readonly requiredConfirmations: number
  readonly createdAt: string
  readonly verifiedAt: string | null
  /** In the 201 only: what the payer must sign. */
  readonly hint?: string
}

export type PriceChange = {
  readonly token: string
  readonly usd: number | null
  readonly usdExact: string | null
  /** <chainId>:<txHash>:<logIndex>, and :<n> after it for row n ≥ 1 that a mapping with code makes of the log */
  readonly id?: string
  readonly chain?: string
  readonly chainId?: number
  readonly blockNumber?: number
  readonly txHash?: string
  readonly logIndex?: number
  readonly timestamp?: string
  /** Unix seconds */
  readonly timestampUnix?: number
  readonly finality?: 'latest' | 'safe' | 'finalized'
  readonly explorerUrl?: string | null
}

export type PriceHour = {
  readonly date: string
  /** Unix seconds */
  readonly dateUnix: number
  readonly value: number | null
  /** The exact figure as a decimal string; null without a value */
  readonly valueExact: string | null
  /** Of sums of dollars: how many of the events have no value; else null */
  readonly unpricedCount: number | null
  /** False for today, and for the hour that has not ended */
  readonly complete: boolean
  readonly open: number | null
  readonly high: number | null
  readonly low: number | null
  readonly close: number | null
}

export type Pricing = {
  readonly perCallUsd: string
  readonly network: string
  readonly asset: string
  readonly assetSymbol: string
  readonly payTo: string
  readonly confirmations: number
  readonly docs: string
}

/** What went wrong, for programs (`error`) and for people (`errorMessage`). */
export type Problem = {
  /** A page about this error */
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  /** A code that never changes */
  readonly error: string
  /** The same text as `detail` */
  readonly errorMessage: string
  readonly requestId: string
  /** Each wrong part of the request */
  readonly errors?: readonly {
    readonly in: 'query' | 'path' | 'header' | 'body'
    readonly name: string
    readonly reason: string
    readonly allowed?: readonly string[]
    readonly minimum?: number
    readonly maximum?: number
  }[]
}

export type Readiness = {
  readonly status: 'ready'
  readonly parts: Readonly<Record<string, string>>
}

export type RevokedApiKey = {
  readonly key: ApiKey
}

export type Service = {
  readonly service: string
  readonly version: string
  readonly chains: readonly Chain[]
  readonly tokens: readonly Token[]
  readonly links: Links
  readonly metrics: readonly string[]
  readonly tiers: readonly Tier[]
  readonly limits: Limits
  /** Price of calls beyond the quota; null without payments */
  readonly pricing: Pricing | null
  /** Optional parts that this ecosystem does not configure; their endpoints return zeros and empty lists */
  readonly notConfigured: readonly (
    | 'burns'
    | 'dividends'
    | 'graveDigs'
    | 'payment'
    | 'gate'
    | 'premium'
  )[]
  /** Logs that could not be decoded, or are about other tokens; no figure includes them */
  readonly anomalies: readonly Anomaly[]
}

export type Stats = {
  readonly totalBurned: string | null
  readonly totalBurnedRaw: string | null
  /** Of everything newly minted; null while the supply is unknown, or if bridges brought all of it */
  readonly burnedPct: number | null
  readonly circulatingSupply: string | null
  readonly circulatingSupplyRaw: string | null
  readonly totalSupply: string | null
  readonly totalSupplyRaw: string | null
  readonly holderCount: number | null
  /** US dollars, at most 6 decimals; null without a price */
  readonly lifetimeDividendsUsdAtPayout: number | null
  /** How many of the events have no dollar value, and are not in the sum */
  readonly lifetimeDividendsUnpricedCount: number
  /** US dollars, at most 6 decimals; null without a price */
  readonly lifetimeDividendsUsdNow: number | null
  /** How many of the events have no dollar value, and are not in the sum */
  readonly lifetimeDividendsUnpricedNowCount: number
  readonly lifetimeDividends: readonly LifetimeDividends[]
  readonly prices: Readonly<Record<string, TokenPrice>>
  readonly graveDigs: GraveDigSums
  readonly tokens: readonly TokenStats[]
}

export type StatsHistory = {
  readonly metric:
    | 'supply'
    | 'burned'
    | 'burnedCumulative'
    | 'holders'
    | 'price'
    | 'marketCap'
    | 'dividends'
    | 'dividendsCumulative'
    | 'graveDigs'
  /** A symbol, or `all` for dividends of every reward token */
  readonly token: string
  readonly unit: 'token' | 'usd' | 'count'
  readonly period: string
  readonly interval: 'day' | 'hour'
  readonly points: readonly (StatsPoint | PriceHour)[]
}

export type StatsPoint = {
  readonly date: string
  /** Unix seconds */
  readonly dateUnix: number
  readonly value: number | null
  /** The exact figure as a decimal string; null without a value */
  readonly valueExact: string | null
  /** Of sums of dollars: how many of the events have no value; else null */
  readonly unpricedCount: number | null
  /** False for today, and for the hour that has not ended */
  readonly complete: boolean
}

export type StreamEvent = {
  readonly kind: 'burn' | 'claim' | 'distribution' | 'dig' | 'price'
  readonly row: Burn | Payout | GraveDig | PriceChange
}

export type Supply = {
  readonly token: string
  /** A name, or `all` */
  readonly chain: string
  /** Token units: no exponent, no trailing zeros */
  readonly supply: string
  /** Base units */
  readonly supplyRaw: string
}

export type Tier = {
  readonly tier: 'anonymous' | 'free' | 'premium'
  readonly dailyQuota: number
  readonly requires: string
}

export type Token = {
  readonly symbol: string
  readonly name: string
  readonly role: 'primary' | 'secondary' | 'reward'
  readonly decimals: number
  readonly addresses: Readonly<Record<string, string>>
}

export type TokenClaims = {
  readonly token: string
  /** Token units: no exponent, no trailing zeros */
  readonly amount: string
  /** Base units */
  readonly amountRaw: string
  /** US dollars, at most 6 decimals; null without a price */
  readonly usdAtClaim: number | null
  /** How many of the events have no dollar value, and are not in the sum */
  readonly unpricedCount: number
  /** US dollars, at most 6 decimals; null without a price */
  readonly usdNow: number | null
  readonly claimCount: number
}

export type TokenDividends = {
  readonly token: string
  readonly chain: string
  readonly address: string | null
  readonly decimals: number
  /** Token units: no exponent, no trailing zeros */
  readonly amount: string
  /** Base units */
  readonly amountRaw: string
  /** US dollars, at most 6 decimals; null without a price */
  readonly usdAtPayout: number | null
  /** How many of the events have no dollar value, and are not in the sum */
  readonly unpricedCount: number
  /** US dollars, at most 6 decimals; null without a price */
  readonly usdNow: number | null
  readonly last24h: TokenPayoutSums
  readonly last7d: TokenPayoutSums
  readonly last30d: TokenPayoutSums
}

export type TokenPayoutSums = {
  /** Token units: no exponent, no trailing zeros */
  readonly amount: string
  /** Base units */
  readonly amountRaw: string
  /** US dollars, at most 6 decimals; null without a price */
  readonly usdAtPayout: number | null
  /** How many of the events have no dollar value, and are not in the sum */
  readonly unpricedCount: number
  readonly payoutCount: number
}

export type TokenPrice = {
  /** US dollars per token */
  readonly usd: number
  /** US dollars, 18 significant digits, no exponent, no trailing zeros */
  readonly usdExact: string
  readonly change24hPct: number | null
  /** Unix seconds */
  readonly asOfUnix: number
  readonly source: string
}

export type TokenStats = {
  readonly symbol: string
  readonly name: string
  readonly role: 'primary' | 'secondary' | 'reward'
  readonly decimals: number
  readonly addresses: Readonly<Record<string, string>>
  readonly totalSupply: string | null
  readonly circulatingSupply: string | null
  readonly totalBurned: string | null
  readonly holderCount: number | null
  readonly priceUsd: number | null
  readonly priceUsdExact: string | null
  /** Why there is no price. `no_source`: none is configured; `no_event`: its source has stated none yet; `no_liquidity`, `low_liquidity`: nothing, or too little, can be traded; `stale`: the feed is too old */
  readonly priceUnknown:
    | 'no_source'
    | 'no_event'
    | 'no_liquidity'
    | 'low_liquidity'
    | 'stale'
    | null
  /** US dollars, at most 6 decimals; null without a price */
  readonly marketCapUsd: number | null
  readonly marketCapUsdExact: string | null
}

export type Topup = {
  readonly txHash: string
  readonly amountUsd: number
  readonly verified: true
  readonly message: 'verified'
  readonly apiKeyPublicId: string | null
  readonly payerAddress: string
  /** What the payment added to the balance. */
  readonly creditedUsd: number
  /** What repaid a debt: spent balance whose payment a reorg had reversed. */
  readonly repaidUsd: number
  readonly verifiedAt: string
  /** The new balance; null if another key than the calling one was credited. */
  readonly prepaidBalanceUsd: number | null
}

export type TopupOffer = {
  readonly x402Version: 1
  readonly error: string
  readonly accepts: readonly {
    readonly scheme: 'exact'
    /** Name of the chain to pay on. */
    readonly network: string
    /** Base units of the asset. */
    readonly maxAmountRequired: string
    readonly resource: string
    readonly description: string
    readonly mimeType: string
    readonly payTo: string
    readonly maxTimeoutSeconds: number
    readonly asset: string
    readonly extra: {
      readonly name: string
      readonly version: string
    }
  }[]
}

export type UnknownFigure = {
  readonly chain: string
  readonly chainId: number
  readonly dataset: string
  readonly token: string | null
  /** `unreadable`: logs of the contract could not be decoded; `differs`: a balance is below zero, which the contract cannot have */
  readonly reason: 'unreadable' | 'differs'
}

export type Usage = {
  /** `key:<prefix>_<publicId>`, or `ip:<address bucket>`. */
  readonly identity: string
  readonly tier: 'anonymous' | 'free' | 'premium'
  /** Charged calls of the UTC day, paid ones included. */
  readonly requestCount: number
  readonly dailyQuota: number
  /** Free calls left of the day. */
  readonly remaining: number
  /** The paid part of requestCount. */
  readonly overageCount: number
  readonly prepaidBalanceUsd: number
  /** Unix seconds of the next reset, 00:00 UTC. */
  readonly resetUnix: number
}

export type UsageDay = {
  /** `YYYY-MM-DD`, a UTC day. */
  readonly date: string
  readonly dateUnix: number
  /** Charged calls, paid ones included. */
  readonly requestCount: number
  /** The paid part of requestCount. */
  readonly overageCount: number
  /** What the paid calls took from prepaid balances. */
  readonly spentUsd: number
  /** False for today. */
  readonly complete: boolean
  /** Keys of the wallet that called, most calls first. */
  readonly keys: readonly KeyUsage[]
}

export type UsageHistory = {
  /** `key:<prefix>_<publicId>`, or `ip:<address bucket>`. */
  readonly identity: string
  readonly days: number
  readonly totals: UsageTotals
  /** Without gaps, oldest first, today last. */
  readonly history: readonly UsageDay[]
}

export type UsageTotals = {
  /** Charged calls, paid ones included. */
  readonly requestCount: number
  /** The paid part of requestCount. */
  readonly overageCount: number
  /** What the paid calls took from prepaid balances. */
  readonly spentUsd: number
}

export type WalletClaims = {
  /** EIP-55 */
  readonly address: string
  readonly summary: ClaimSummary
  readonly claims: readonly DividendClaim[]
}

export type WalletHolding = {
  /** Null if it holds none, is excluded, or is not among the first 10000 */
  readonly rank: number | null
  /** EIP-55 */
  readonly address: string
  readonly token: string
  /** Token units: no exponent, no trailing zeros */
  readonly balance: string
  /** Base units */
  readonly balanceRaw: string
  /** Of the total supply on the chains asked for */
  readonly sharePct: number
  /** A burn address or one that does not circulate: it has no rank and is not counted as a holder */
  readonly excluded: boolean
  /** Start of the first UTC day at whose end it held any; null if none yet */
  readonly firstSeenUnix: number | null
  /** Start of the UTC day of its last transfer of more than 0, on chains where it holds any */
  readonly lastSeenUnix: number | null
  /** Token units: no exponent, no trailing zeros */
  readonly change24h: string
  /** Base units */
  readonly change24hRaw: string
  /** Token units: no exponent, no trailing zeros */
  readonly change7d: string
  /** Base units */
  readonly change7dRaw: string
  /** Token units: no exponent, no trailing zeros */
  readonly change30d: string
  /** Base units */
  readonly change30dRaw: string
  readonly chains: readonly ChainBalance[]
}

export type Webhook = {
  readonly id: string
  readonly url: string
  readonly description: string | null
  readonly filter: Readonly<Record<string, string | number | null>>
  /** `unfunded`: quota and balance are empty; `failing`: the last attempt failed. */
  readonly state: 'active' | 'unfunded' | 'failing' | 'disabled'
  /** Why it is disabled: `gone` for 410, `failing` for five days, `filter_not_served`. */
  readonly reason: null | string
  readonly createdAt: string
  /** The last event that was delivered or passed, as an id of the stream. */
  readonly cursor: string
  /** Events that it has got. */
  readonly delivered: number
  readonly failingSince: string | null
  /** In a row. */
  readonly failedAttempts: number
  readonly nextAttemptAt: string | null
  readonly lastAnswer: {
    /** A status, or what went wrong, such as `timeout` or `payment_required`. */
    readonly answer: string
    readonly at: string
  } | null
}

export type WebhookList = {
  readonly webhooks: readonly Webhook[]
}

export type WebhookWithSecret = {
  readonly webhook: Webhook
  /** Verifies signatures, as libraries of Standard Webhooks take it (`whsec_…`). */
  readonly secret: string
}

/** Current statistics: GET /api/stats */
export function getStats(
  client: Client,
  input: Readonly<Record<string, never>> = {},
  options?: CallOptions,
) {
  return client.call<Stats, Meta>('GET', '/api/stats', input, options)
}

export type GetStatsHistoryInput = {
  /** Which series. Stock metrics (supply, burnedCumulative, holders, price, marketCap, dividendsCumulative) are the state at the end of the day, flow metrics (burned, dividends, graveDigs) the sum of the day. */
  readonly metric?:
    | 'supply'
    | 'burned'
    | 'burnedCumulative'
    | 'holders'
    | 'price'
    | 'marketCap'
    | 'dividends'
    | 'dividendsCumulative'
    | 'graveDigs'
  /** How far back, in UTC days that end with today: `<n>d`, or `all`. */
  readonly period?: string
  /** `hour` is there for `price`, up to 90 days back. */
  readonly interval?: 'day' | 'hour'
  /** A token by symbol (any case) or by its address on any chain. */
  readonly token?: string
}

/** History of a metric: GET /api/stats/history */
export function getStatsHistory(
  client: Client,
  input: GetStatsHistoryInput = {},
  options?: CallOptions,
) {
  return client.call<StatsHistory, Meta>('GET', '/api/stats/history', input, options)
}

export type ListHoldersInput = {
  /** Number of rows. */
  readonly limit?: number
  /** A token by symbol (any case) or by its address on any chain. */
  readonly token?: string
  /** A chain by name, id (`8453`) or CAIP-2 (`eip155:8453`), in any case; or `all`. */
  readonly chain?: string
  /** Continues after a page: its `meta.page.nextCursor`, with the same filters. */
  readonly cursor?: string
}

/** Holders by balance: GET /api/holders */
export function listHolders(client: Client, input: ListHoldersInput = {}, options?: CallOptions) {
  return client.call<readonly Holder[], PagedMeta>('GET', '/api/holders', input, options)
}

export type GetHolderInput = {
  /** A wallet address; if in mixed case, with a valid EIP-55 checksum. */
  readonly address: string
  /** A token by symbol (any case) or by its address on any chain. */
  readonly token?: string
  /** A chain by name, id (`8453`) or CAIP-2 (`eip155:8453`), in any case; or `all`. */
  readonly chain?: string
}

/** Balance, rank and change of a wallet: GET /api/holders/{address} */
export function getHolder(client: Client, input: GetHolderInput, options?: CallOptions) {
  return client.call<WalletHolding, Meta>('GET', '/api/holders/{address}', input, options)
}

export type GetDailyBurnsInput = {
  /** How far back, in UTC days that end with today: `<n>d`, or `all`. */
  readonly period?: string
  /** A chain by name, id (`8453`) or CAIP-2 (`eip155:8453`), in any case; or `all`. */
  readonly chain?: string
  /** A token by symbol (any case) or by its address on any chain. */
  readonly token?: string
}

/** Daily burns: GET /api/burns */
export function getDailyBurns(
  client: Client,
  input: GetDailyBurnsInput = {},
  options?: CallOptions,
) {
  return client.call<
    readonly BurnDay[],
    {
      readonly asOf: string
      /** Time of the newest indexed block of any chain */
      readonly asOfUnix: number
      /** At least one chain is stale */
      readonly stale: boolean
      readonly chains: readonly ChainStatus[]
      /** What cannot be vouched for. Of dataset `holders`, figures that follow from balances are null; those of other datasets lack logs */
      readonly unknown: readonly UnknownFigure[]
      /** Optional parts that this ecosystem does not configure; their endpoints return zeros and empty lists */
      readonly notConfigured: readonly (
        | 'burns'
        | 'dividends'
        | 'graveDigs'
        | 'payment'
        | 'gate'
        | 'premium'
      )[]
      /** Effective parameters after defaults */
      readonly query: Readonly<Record<string, string | number | null>>
      readonly totals: BurnSums
    }
  >('GET', '/api/burns', input, options)
}

export type GetBurnTotalsInput = {
  /** A token by symbol (any case) or by its address on any chain. */
  readonly token?: string
}

/** Total burned: GET /api/burns/total */
export function getBurnTotals(
  client: Client,
  input: GetBurnTotalsInput = {},
  options?: CallOptions,
) {
  return client.call<BurnTotals, Meta>('GET', '/api/burns/total', input, options)
}

export type ListBurnsInput = {
  /** Number of rows. */
  readonly limit?: number
  /** A chain by name, id (`8453`) or CAIP-2 (`eip155:8453`), in any case; or `all`. */
  readonly chain?: string
  /** A token by symbol (any case) or by its address on any chain. */
  readonly token?: string
  /** Events at or after this moment. Unix seconds, a UTC day, or RFC 3339 such as 2026-11-21T04:00:00Z. */
  readonly from?: string
  /** Events at or before this moment. Unix seconds, a UTC day, or RFC 3339 such as 2026-11-21T04:00:00Z. */
  readonly to?: string
  /** Continues after a page: its `meta.page.nextCursor`, with the same filters. */
  readonly cursor?: string
  /** Only events of this wallet, which burned. */
  readonly address?: string
}

/** Latest burns: GET /api/burns/recent */
export function listBurns(client: Client, input: ListBurnsInput = {}, options?: CallOptions) {
  return client.call<readonly Burn[], PagedMeta>('GET', '/api/burns/recent', input, options)
}

/** Lifetime dividends: GET /api/dividends/total */
export function getDividendTotals(
  client: Client,
  input: Readonly<Record<string, never>> = {},
  options?: CallOptions,
) {
  return client.call<DividendTotals, Meta>('GET', '/api/dividends/total', input, options)
}

export type ListPayoutsInput = {
  /** Number of rows. */
  readonly limit?: number
  /** A chain by name, id (`8453`) or CAIP-2 (`eip155:8453`), in any case; or `all`. */
  readonly chain?: string
  /** A token by symbol (any case) or by its address on any chain. */
  readonly token?: string
  /** Events at or after this moment. Unix seconds, a UTC day, or RFC 3339 such as 2026-11-21T04:00:00Z. */
  readonly from?: string
  /** Events at or before this moment. Unix seconds, a UTC day, or RFC 3339 such as 2026-11-21T04:00:00Z. */
  readonly to?: string
  /** Continues after a page: its `meta.page.nextCursor`, with the same filters. */
  readonly cursor?: string
  /** Only events of this wallet, which was paid. */
  readonly address?: string
}

/** Latest payout events: GET /api/dividends/recent */
export function listPayouts(client: Client, input: ListPayoutsInput = {}, options?: CallOptions) {
  return client.call<readonly Payout[], PagedMeta>('GET', '/api/dividends/recent', input, options)
}

export type GetWalletClaimsInput = {
  /** A wallet address; if in mixed case, with a valid EIP-55 checksum. */
  readonly address: string
  /** Number of rows. */
  readonly limit?: number
  /** A chain by name, id (`8453`) or CAIP-2 (`eip155:8453`), in any case; or `all`. */
  readonly chain?: string
  /** A token by symbol (any case) or by its address on any chain. */
  readonly token?: string
  /** Events at or after this moment. Unix seconds, a UTC day, or RFC 3339 such as 2026-11-21T04:00:00Z. */
  readonly from?: string
  /** Events at or before this moment. Unix seconds, a UTC day, or RFC 3339 such as 2026-11-21T04:00:00Z. */
  readonly to?: string
  /** Continues after a page: its `meta.page.nextCursor`, with the same filters. */
  readonly cursor?: string
}

/** Claim history of a wallet: GET /api/dividends/{address} */
export function getWalletClaims(
  client: Client,
  input: GetWalletClaimsInput,
  options?: CallOptions,
) {
  return client.call<WalletClaims, PagedMeta>('GET', '/api/dividends/{address}', input, options)
}

export type ListGraveDigsInput = {
  /** Number of rows. */
  readonly limit?: number
  /** A chain by name, id (`8453`) or CAIP-2 (`eip155:8453`), in any case; or `all`. */
  readonly chain?: string
  /** A token by symbol (any case) or by its address on any chain. */
  readonly token?: string
  /** Events at or after this moment. Unix seconds, a UTC day, or RFC 3339 such as 2026-11-21T04:00:00Z. */
  readonly from?: string
  /** Events at or before this moment. Unix seconds, a UTC day, or RFC 3339 such as 2026-11-21T04:00:00Z. */
  readonly to?: string
  /** Continues after a page: its `meta.page.nextCursor`, with the same filters. */
  readonly cursor?: string
  /** Only events of this wallet, which dug. */
  readonly address?: string
}

/** Recent grave digs: GET /api/grave-digs */
export function listGraveDigs(
  client: Client,
  input: ListGraveDigsInput = {},
  options?: CallOptions,
) {
  return client.call<readonly GraveDig[], PagedMeta>('GET', '/api/grave-digs', input, options)
}

export type RankGraveDiggersInput = {
  /** Number of rows. */
  readonly limit?: number
  /** A token by symbol (any case) or by its address on any chain. */
  readonly token?: string
}

/** Top grave diggers: GET /api/grave-digs/leaderboard */
export function rankGraveDiggers(
  client: Client,
  input: RankGraveDiggersInput = {},
  options?: CallOptions,
) {
  return client.call<readonly Leader[], Meta>('GET', '/api/grave-digs/leaderboard', input, options)
}

export type GetTotalSupplyInput = {
  /** A token by symbol (any case) or by its address on any chain. */
  readonly token?: string
  /** A chain by name, id (`8453`) or CAIP-2 (`eip155:8453`), in any case; or `all`. */
  readonly chain?: string
}

/** Total supply as a number: GET /api/supply/total */
export function getTotalSupply(
  client: Client,
  input: GetTotalSupplyInput = {},
  options?: CallOptions,
) {
  return client.call<Supply, Meta>('GET', '/api/supply/total', input, options)
}

export type GetCirculatingSupplyInput = {
  /** A token by symbol (any case) or by its address on any chain. */
  readonly token?: string
  /** A chain by name, id (`8453`) or CAIP-2 (`eip155:8453`), in any case; or `all`. */
  readonly chain?: string
}

/** Circulating supply as a number: GET /api/supply/circulating */
export function getCirculatingSupply(
  client: Client,
  input: GetCirculatingSupplyInput = {},
  options?: CallOptions,
) {
  return client.call<Supply, Meta>('GET', '/api/supply/circulating', input, options)
}

export type MintKeyInput = {
  /** The wallet that signs. */
  readonly ownerAddress: string
  /** EIP-191 signature: 130 hex digits, with or without 0x. */
  readonly signature: string
  /** The exact text that was signed. */
  readonly message: string
  /** Free text of at most 64 characters; null for none. */
  readonly label?: string | null
}

/** Mint an API key: POST /api/keys */
export function mintKey(client: Client, input: MintKeyInput, options?: CallOptions) {
  return client.call<NewApiKey>('POST', '/api/keys', input, options)
}

/** List the keys of a wallet: GET /api/keys */
export function listKeys(
  client: Client,
  input: Readonly<Record<string, never>> = {},
  options?: CallOptions,
) {
  return client.call<ApiKeyList>('GET', '/api/keys', input, options)
}

export type GetGateInput = {
  /** The wallet. */
  readonly address?: string
}

/** See whether a wallet can mint a key: GET /api/keys/gate */
export function getGate(client: Client, input: GetGateInput = {}, options?: CallOptions) {
  return client.call<Gate>('GET', '/api/keys/gate', input, options)
}

export type GetKeyMessageInput = {
  /** The wallet that will sign. Mixed case must carry the right EIP-55 checksum. */
  readonly address?: string
  /** The action that the signature allows. */
  readonly action?:
    | 'mint'
    | 'list'
    | 'revoke'
    | 'rotate'
    | 'move-balance'
    | 'link-payer'
    | 'label'
    | 'limits'
  /** The key to act on. */
  readonly publicId?: string
  /** The key that receives the balance; only for move-balance. */
  readonly toPublicId?: string
  /** The transaction of a payment; only for link-payer. */
  readonly txHash?: string
}

/** Get the exact text to sign: GET /api/keys/message */
export function getKeyMessage(
  client: Client,
  input: GetKeyMessageInput = {},
  options?: CallOptions,
) {
  return client.call<KeyMessage>('GET', '/api/keys/message', input, options)
}

export type RevokeKeyInput = {
  /** The key: its 8 hex characters. */
  readonly publicId: string
  /** The wallet that signs. */
  readonly ownerAddress?: string
  /** EIP-191 signature: 130 hex digits, with or without 0x. */
  readonly signature?: string
  /** The exact text that was signed. */
  readonly message?: string
}

/** Revoke a key: POST /api/keys/{publicId}/revoke */
export function revokeKey(client: Client, input: RevokeKeyInput, options?: CallOptions) {
  return client.call<RevokedApiKey>('POST', '/api/keys/{publicId}/revoke', input, options)
}

export type RotateKeyInput = {
  /** The key: its 8 hex characters. */
  readonly publicId: string
  /** The wallet that signs. */
  readonly ownerAddress?: string
  /** EIP-191 signature: 130 hex digits, with or without 0x. */
  readonly signature?: string
  /** The exact text that was signed. */
  readonly message?: string
}

/** Replace a key: POST /api/keys/{publicId}/rotate */
export function rotateKey(client: Client, input: RotateKeyInput, options?: CallOptions) {
  return client.call<NewApiKey>('POST', '/api/keys/{publicId}/rotate', input, options)
}

export type LabelKeyInput = {
  /** The key: its 8 hex characters. */
  readonly publicId: string
  /** The wallet that signs. */
  readonly ownerAddress?: string
  /** EIP-191 signature: 130 hex digits, with or without 0x. */
  readonly signature?: string
  /** The exact text that was signed. */
  readonly message?: string
  /** Free text of at most 64 characters; null for none. */
  readonly label: string | null
}

/** Rename a key: POST /api/keys/{publicId}/label */
export function labelKey(client: Client, input: LabelKeyInput, options?: CallOptions) {
  return client.call<LabeledApiKey>('POST', '/api/keys/{publicId}/label', input, options)
}

export type GetKeyLimitsInput = {
  /** The key: its 8 hex characters. */
  readonly publicId: string
}

/** Read the limits of a key: GET /api/keys/{publicId}/limits */
export function getKeyLimits(client: Client, input: GetKeyLimitsInput, options?: CallOptions) {
  return client.call<KeyLimits>('GET', '/api/keys/{publicId}/limits', input, options)
}

export type ChangeKeyLimitsInput = {
  /** The key: its 8 hex characters. */
  readonly publicId: string
  /** The wallet that signs. */
  readonly ownerAddress?: string
  /** EIP-191 signature: 130 hex digits, with or without 0x. */
  readonly signature?: string
  /** The exact text that was signed. */
  readonly message?: string
  /** US dollars that paid calls may cost in a UTC day. */
  readonly dailyCapUsd?: number | null
  /** When the key ends (RFC 3339). */
  readonly expiresAt?: string | null
}

/** Limit a key: POST /api/keys/{publicId}/limits */
export function changeKeyLimits(
  client: Client,
  input: ChangeKeyLimitsInput,
  options?: CallOptions,
) {
  return client.call<KeyLimits>('POST', '/api/keys/{publicId}/limits', input, options)
}

export type MoveBalanceInput = {
  /** The key: its 8 hex characters. */
  readonly publicId: string
  /** The wallet that signs. */
  readonly ownerAddress: string
  /** EIP-191 signature: 130 hex digits, with or without 0x. */
  readonly signature: string
  /** The exact text that was signed. */
  readonly message: string
  /** The receiving key. */
  readonly toPublicId: string
}

/** Move the balance of a key: POST /api/keys/{publicId}/move-balance */
export function moveBalance(client: Client, input: MoveBalanceInput, options?: CallOptions) {
  return client.call<MovedBalance>('POST', '/api/keys/{publicId}/move-balance', input, options)
}

export type ReportLeakInput = {
  /** The whole secret. */
  readonly secret: string
}

/** Report a leaked secret: POST /api/keys/report-leak */
export function reportLeak(client: Client, input: ReportLeakInput, options?: CallOptions) {
  return client.call<LeakReceipt>('POST', '/api/keys/report-leak', input, options)
}

/** Your calls of today: GET /api/usage */
export function getUsage(
  client: Client,
  input: Readonly<Record<string, never>> = {},
  options?: CallOptions,
) {
  return client.call<Usage>('GET', '/api/usage', input, options)
}

export type GetUsageHistoryInput = {
  /** UTC days that end with today; without a key at most 30. */
  readonly days?: number
}

/** Your calls of the last days: GET /api/usage/history */
export function getUsageHistory(
  client: Client,
  input: GetUsageHistoryInput = {},
  options?: CallOptions,
) {
  return client.call<UsageHistory>('GET', '/api/usage/history', input, options)
}

export type RegisterWebhookInput = {
  /** An https URL on a public host. */
  readonly url: string
  readonly description?: string
  /** As the parameters of /api/stream. */
  readonly filter?: {
    /** Only events of this kind, or `all`. */
    readonly kind?: 'burn' | 'claim' | 'distribution' | 'dig' | 'price' | 'all'
    /** A token by symbol (any case) or by its address on any chain. */
    readonly token?: string
    /** A chain by name, id (`8453`) or CAIP-2 (`eip155:8453`), in any case; or `all`. */
    readonly chain?: string
    /** Only events of this wallet, which burned, was paid or dug; without prices. */
    readonly address?: string
    /** Only events of at least this many units of their token; no prices. */
    readonly leastAmount?: string
    /** Only events of at least this many dollars at their time; an update that falls below is left out. */
    readonly leastUsd?: string
  }
}

/** Register a webhook: POST /api/webhooks */
export function registerWebhook(
  client: Client,
  input: RegisterWebhookInput,
  options?: CallOptions,
) {
  return client.call<WebhookWithSecret>('POST', '/api/webhooks', input, options)
}

/** The webhooks of a key: GET /api/webhooks */
export function listWebhooks(
  client: Client,
  input: Readonly<Record<string, never>> = {},
  options?: CallOptions,
) {
  return client.call<WebhookList>('GET', '/api/webhooks', input, options)
}

export type GetWebhookInput = {
  /** The `id` of a webhook. */
  readonly webhookId: string
}

/** A webhook and how it does: GET /api/webhooks/{webhookId} */
export function getWebhook(client: Client, input: GetWebhookInput, options?: CallOptions) {
  return client.call<OneWebhook>('GET', '/api/webhooks/{webhookId}', input, options)
}

export type EnableWebhookInput = {
  /** The `id` of a webhook. */
  readonly webhookId: string
}

/** Enable a webhook again: POST /api/webhooks/{webhookId}/enable */
export function enableWebhook(client: Client, input: EnableWebhookInput, options?: CallOptions) {
  return client.call<OneWebhook>('POST', '/api/webhooks/{webhookId}/enable', input, options)
}

export type DeleteWebhookInput = {
  /** The `id` of a webhook. */
  readonly webhookId: string
}

/** Delete a webhook: POST /api/webhooks/{webhookId}/delete */
export function deleteWebhook(client: Client, input: DeleteWebhookInput, options?: CallOptions) {
  return client.call<OneWebhook>('POST', '/api/webhooks/{webhookId}/delete', input, options)
}

export type RotateWebhookSecretInput = {
  /** The `id` of a webhook. */
  readonly webhookId: string
}

/** Rotate the secret of a webhook: POST /api/webhooks/{webhookId}/rotate */
export function rotateWebhookSecret(
  client: Client,
  input: RotateWebhookSecretInput,
  options?: CallOptions,
) {
  return client.call<WebhookWithSecret>('POST', '/api/webhooks/{webhookId}/rotate', input, options)
}

export type PrepayInput = {
  /** The key to credit. */
  readonly apiKeyPublicId: string
  /** The transfer. */
  readonly txHash: string
  /** The wallet that the money came from. */
  readonly payerAddress: string
  /** For your records only: the amount on the chain is credited. */
  readonly amountUsd: number
  /** Required if the payer does not own the key. */
  readonly payerMessage?: string
  /** EIP-191 signature of payerMessage by the payer, or what a deployed contract wallet accepts (ERC-1271). */
  readonly payerSignature?: string
}

/** Register a prepayment: POST /api/sessions/prepay */
export function prepay(client: Client, input: PrepayInput, options?: CallOptions) {
  return client.call<Prepayment>('POST', '/api/sessions/prepay', input, options)
}

export type GetPrepaymentInput = {
  /** The id of the record, or the hash of the transaction. */
  readonly idOrTxHash: string
  /** Seconds to wait until the prepayment is decided. */
  readonly wait?: number
}

/** Read a prepayment: GET /api/sessions/prepay/{idOrTxHash} */
export function getPrepayment(client: Client, input: GetPrepaymentInput, options?: CallOptions) {
  return client.call<Prepayment>('GET', '/api/sessions/prepay/{idOrTxHash}', input, options)
}

export type GetTopupInput = {
  /** US dollars to pay. */
  readonly usd?: string
  /** publicId of the key to credit; anyone may pay for any key. */
  readonly key?: string
}

/** Buy prepaid balance with an x402 payment: GET /api/sessions/topup */
export function getTopup(client: Client, input: GetTopupInput = {}, options?: CallOptions) {
  return client.call<Topup>('GET', '/api/sessions/topup', input, options)
}

/** Chains, tokens, metrics, limits, tiers and prices of this service: GET /api/meta */
export function getMeta(
  client: Client,
  input: Readonly<Record<string, never>> = {},
  options?: CallOptions,
) {
  return client.call<Service>('GET', '/api/meta', input, options)
}

/** Whether the process is alive: GET /healthz */
export function getHealth(
  client: Client,
  input: Readonly<Record<string, never>> = {},
  options?: CallOptions,
) {
  return client.call<Health>('GET', '/healthz', input, options)
}

/** Whether data calls can be answered: GET /readyz */
export function getReadiness(
  client: Client,
  input: Readonly<Record<string, never>> = {},
  options?: CallOptions,
) {
  return client.call<Readiness>('GET', '/readyz', input, options)
}
