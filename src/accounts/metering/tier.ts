import { type Static, Type } from 'typebox'
import { walletInQuery } from '#accounts/keys/message.ts'
import { type Address, showAddress } from '#base/address.ts'
import { TtlCache } from '#base/async.ts'
import { formatDecimal, toUsd, toUsdPrice, valueAt } from '#base/money.ts'
import { isRefusal, type Refusal, refuse } from '#base/refusal.ts'
import { named } from '#base/schema.ts'
import {
  type Allowance,
  type ShareTier,
  shareTiers,
  type WalletTier,
  walletTiers,
} from '#base/tier.ts'
import { DAY_SECONDS, HOUR_SECONDS, unixNow } from '#base/time.ts'
import { type Context, oncePerContext } from '#context.ts'
import { readBalanceAt, readSupplyAt } from '#data/holders/queries.ts'
import { areHoldersKnown } from '#data/meta.ts'
import { averagePrice } from '#data/prices/price-book.ts'
import { type Connection, StoreError } from '#db/engine.ts'
import { column, sql } from '#db/sql.ts'
import type { Chain, PricedToken, SupplyShare } from '#ecosystem/ecosystem.ts'
import {
  type ChainStatus,
  type IndexStatus,
  judgeCondition,
  readIndexStatus,
} from '#index/status.ts'
import { answer, defineRoute, type Route } from '#route.ts'

/** A wallet's keys share one allowance. A new tier must count within a minute. */
const ALLOWANCE_TTL_MS = 5_000

/** Bounds memory; evicted wallets are read again. */
const HELD_MAX = 20_000

/** Rewrites an unchanged tier this often, because its age decides how long it may stand. */
const REWRITE_SECONDS = HOUR_SECONDS

export function readAllowance(ctx: Context, wallet: Address): Promise<Allowance> {
  return getAllowances(ctx).get(wallet, async () => {
    const tier = await readTier(ctx, wallet)
    return { tier, dailyQuota: ctx.ecosystem.quotas[tier] }
  })
}

const getAllowances = oncePerContext(
  ({ clock }) => new TtlCache<Allowance>({ clock, max: HELD_MAX, ttlMs: ALLOWANCE_TTL_MS }),
)

/**
 * Stores the register's last verdict with the wallet: while the register is unavailable it stands for a day, even
 * after a restart, so that a failing register turns no caller away. Unknown wallets are free tier.
 */
async function readTier(ctx: Context, wallet: Address): Promise<WalletTier> {
  const shares = await readShares(ctx, wallet).catch(() => undefined)
  const read = shares && highestTier(shares)
  try {
    const stored = await readStored(ctx, wallet)
    if (read === undefined) return stored.ageSeconds <= DAY_SECONDS ? stored.tier : 'free'
    if (read !== stored.tier || stored.ageSeconds >= REWRITE_SECONDS) {
      const number = walletTiers.find(({ name }) => name === read)?.stored ?? 0
      const stand = sql`premium = ${number}, premium_unix = ${unixNow(ctx.clock)}`
      await ctx.accounts.write((tx) =>
        tx.run(sql`update wallets set ${stand} where wallet = ${wallet}`),
      )
    }
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
  }
  return read ?? 'free'
}

async function readStored({ accounts, clock }: Context, wallet: Address) {
  const [row] = await accounts.read(sql`
    select premium, premium_unix from wallets
    where wallet = ${wallet} and premium_unix is not null`)
  if (row === undefined) return { tier: 'free', ageSeconds: Number.POSITIVE_INFINITY } as const
  const number = column.integer(row, 'premium')
  const tier = walletTiers.find(({ stored }) => stored === number)?.name ?? 'free'
  return { tier, ageSeconds: unixNow(clock) - column.integer(row, 'premium_unix') }
}

function highestTier(shares: readonly ShareHeld[]): WalletTier {
  const isReached = (name: string) => shares.some((each) => each.reached && each.tier === name)
  return walletTiers.findLast(({ name }) => isReached(name))?.name ?? 'free'
}

/** What a wallet holds of what a tier asks for. */
type ShareHeld = Omit<Static<typeof Share>, 'dailyQuota'> & { readonly tier: ShareTier }

/** Returns what a wallet holds of what each tier asks for; undefined if a chain is not live. */
export async function readShares(
  ctx: Judged,
  wallet: Address,
): Promise<readonly ShareHeld[] | undefined> {
  // Without share tiers in the file nobody is premium, even while the register cannot be read.
  if (shareTiers.every(({ name }) => ctx.ecosystem[name] === null)) return []
  return ctx.register.snapshot(async (connection) => {
    const shares: ShareHeld[] = []
    for (const { name } of shareTiers) {
      const share = ctx.ecosystem[name]
      if (share === null) continue
      const amounts = await readHeld(ctx, connection, { share, wallet })
      if (amounts === undefined) return undefined
      const { held, needed } = amounts
      const { symbol, decimals } = share.token
      shares.push({
        tier: name,
        symbol,
        held: formatDecimal(held, decimals),
        // Rounds up, so that this many base units are enough.
        needed: formatDecimal((needed + 999n) / 1_000n, decimals),
        reached: held > 0n && held * 1_000n >= needed,
      })
    }
    return shares
  })
}

/**
 * Reads the balance in base units and the supply share in thousandths of one, summed over all chains of the token, each
 * at one deep block; undefined unless all chains are live.
 */
async function readHeld(
  ctx: Judged,
  connection: Connection,
  { share, wallet }: { readonly share: SupplyShare; readonly wallet: Address },
) {
  const { token, supplyPerMille, depthBlocks } = share
  const index = await readIndexStatus(connection, ctx.ecosystem.chains)
  let held = 0n
  let supply = 0n
  for (const chain of ctx.ecosystem.chains.filter(({ name }) => token.addresses.has(name))) {
    const status = liveChain(ctx, index, { chain, tokens: [token] })
    if (status === undefined) return undefined
    const blockNumber = status.blockNumber - depthBlocks
    const at = { token: token.symbol, chainId: chain.id, blockNumber }
    supply += await readSupplyAt(connection, at)
    held += await readBalanceAt(connection, { ...at, address: wallet })
  }
  return { held, needed: BigInt(supplyPerMille) * supply }
}

type Judged = Pick<Context, 'register' | 'ecosystem' | 'clock'>

/** Undefined if the chain is stale or a balance unknown, so that neither ever decides. */
function liveChain(
  { clock }: Pick<Context, 'clock'>,
  index: IndexStatus | undefined,
  of: { readonly chain: Chain; readonly tokens: readonly PricedToken[] },
): ChainStatus | undefined {
  if (!index || !of.tokens.every((token) => areHoldersKnown(index, token, of.chain.id)))
    return undefined
  const status = index.chains.find((each) => each.chain.id === of.chain.id)
  return status && judgeCondition(status, unixNow(clock)) === 'live' ? status : undefined
}

type GateVerdict = Pick<Static<typeof Gate>, 'canMint' | 'requiredUsd' | 'heldUsd' | 'tokens'>

/**
 * Judges from our own index at a deep enough block, at a time-weighted price that one pumped block
 * cannot move. No RPC call.
 */
export async function readGate(ctx: Judged, wallet: Address): Promise<GateVerdict | Refusal> {
  const { gate, primary, secondary, chains, tokens: listed } = ctx.ecosystem
  if (gate === null || gate === 'open')
    return { canMint: true, requiredUsd: null, heldUsd: null, tokens: [] }
  const { chain, averagePriceMinutes, depthBlocks, minimum } = gate
  return ctx.register.snapshot(async (connection) => {
    const held = secondary === null ? [primary] : [primary, secondary]
    const index = await readIndexStatus(connection, chains)
    const status = liveChain(ctx, index, { chain, tokens: held })
    if (status === undefined)
      return gateUnavailable(`The index of ${chain.name} is not up to date.`)
    const untilUnix = status.blockTimeUnix
    const window = { fromUnix: untilUnix - averagePriceMinutes * 60, untilUnix }
    const blockNumber = status.blockNumber - depthBlocks
    const tokens = []
    let heldUsd = 0n
    for (const { symbol, decimals } of held) {
      const average = await averagePrice(connection, listed, { symbol, window })
      if ('gap' in average)
        return gateUnavailable(
          `The price of ${symbol} is unknown (${average.gap} of ${average.symbol}).`,
        )
      const at = { token: symbol, address: wallet, chainId: chain.id, blockNumber }
      const balance = await readBalanceAt(connection, at)
      const value = valueAt(balance, decimals, average.price)
      const amount = formatDecimal(balance, decimals)
      tokens.push({ symbol, amount, priceUsd: toUsdPrice(average.price), valueUsd: toUsd(value) })
      heldUsd += value
    }
    const required = { canMint: heldUsd >= minimum, requiredUsd: toUsd(minimum) }
    return { ...required, heldUsd: toUsd(heldUsd), tokens }
  })
}

function gateUnavailable(message: string): Refusal {
  return refuse('gate_unavailable', message, { retryAfterSeconds: 30 })
}

const Held = named('GateToken', {
  symbol: Type.String(),
  amount: Type.String({ description: 'Token units.' }),
  priceUsd: Type.Number({ description: 'Time-weighted, as the gate counts.' }),
  valueUsd: Type.Number(),
})

const Share = named('GateTier', {
  tier: Type.String(),
  dailyQuota: Type.Integer(),
  symbol: Type.String(),
  held: Type.String({ description: 'Token units.' }),
  needed: Type.String({ description: 'Token units.' }),
  reached: Type.Boolean(),
})

const Gate = named('Gate', {
  address: Type.String(),
  canMint: Type.Boolean(),
  requiredUsd: Type.Union([Type.Number(), Type.Null()], { description: 'Null: anyone may mint.' }),
  heldUsd: Type.Union([Type.Number(), Type.Null()]),
  tokens: Type.Array(Held),
  tier: Type.Enum(walletTiers.map(({ name }) => name)),
  dailyQuota: Type.Integer({ description: 'Calls per UTC day that the tier brings.' }),
  tiers: Type.Array(Share, { description: 'Tiers that ask for a share of the supply.' }),
})

export function gateRoute(ctx: Context): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/keys/gate',
    operationId: 'getGate',
    tag: 'Keys',
    summary: 'See whether a wallet can mint a key',
    description:
      'What the wallet holds, what a key asks for, and its tier, read from our index at the depth and price that minting uses. Free, and strictly limited per address.',
    metered: false,
    guard: 'gate',
    parameters: { address: { ...walletInQuery, description: 'The wallet.' } },
    answers: { 200: { description: 'The gate as this wallet meets it.', schema: Gate } },
    refusals: ['invalid_address', 'gate_unavailable'],
    async handle({ parameters: { address } }) {
      const [held, shares] = await Promise.all([readGate(ctx, address), readShares(ctx, address)])
      if (isRefusal(held)) return held
      if (shares === undefined) return gateUnavailable('The index of holders is not up to date.')
      const { quotas } = ctx.ecosystem
      const tier = highestTier(shares)
      const body = {
        address: showAddress(address),
        ...held,
        tier,
        dailyQuota: quotas[tier],
        tiers: shares.map((share) => ({ ...share, dailyQuota: quotas[share.tier] })),
      }
      return answer(200, body)
    },
  })
}

/** Call only for a verified signer, because the refusal shows what the wallet holds. */
export async function checkGate(ctx: Context, wallet: Address): Promise<Refusal | undefined> {
  const verdict = await readGate(ctx, wallet)
  if (isRefusal(verdict)) return verdict
  const { canMint, ...members } = verdict
  if (canMint) return undefined
  const message = `this wallet must hold tokens worth ${members.requiredUsd} USD`
  return refuse('holding_gate_not_met', message, { members })
}
