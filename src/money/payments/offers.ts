import assert from 'node:assert/strict'
import { Type } from 'typebox'
import type { Ecosystem, Payment } from '#chains/ecosystem/ecosystem.ts'
import type { Context } from '#context.ts'
import { showAddress } from '#domain/address.ts'
import type { Caller } from '#domain/caller.ts'
import { formatDecimal, toUsd } from '#domain/money.ts'
import { nextMidnight, toDate, toIso, unixNow } from '#lib/time.ts'

export const PaymentRequiredBody = Type.Object(
  {
    x402Version: Type.Literal(1),
    error: Type.Literal('payment_required'),
    errorMessage: Type.String(),
    accepts: Type.Array(
      Type.Object(
        {
          scheme: Type.Literal('exact'),
          network: Type.String({ description: 'Name of the chain to pay on.' }),
          asset: Type.String({ description: 'Contract of the payment asset (EIP-55).' }),
          assetSymbol: Type.String(),
          maxAmountRequired: Type.String({ description: 'Price per call in USD.' }),
          payTo: Type.String({ description: 'The wallet to pay (EIP-55).' }),
          description: Type.String(),
          docs: Type.String(),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { title: 'PaymentRequired', additionalProperties: false },
)

/** How payments are taken; for code that runs only where they are. */
export function paymentOf({ ecosystem }: Pick<Context, 'ecosystem'>): Payment {
  const { payment } = ecosystem
  assert(payment !== null, 'the ecosystem file has no payment')
  return payment
}

/** The 402 body that the API contract specifies. */
export function paymentRequiredBody(
  ctx: Pick<Context, 'ecosystem' | 'clock'>,
  caller: Pick<Caller, 'kind' | 'dailyQuota'>,
  settles: boolean,
) {
  const payment = paymentOf(ctx)
  const { pricePerCall, service } = ctx.ecosystem
  const price = formatDecimal(pricePerCall, 6)
  return {
    x402Version: 1,
    error: 'payment_required',
    errorMessage: 'Daily quota exhausted and no prepaid balance.',
    accepts: [
      {
        scheme: 'exact',
        network: payment.chain.name,
        asset: showAddress(payment.asset),
        assetSymbol: payment.symbol,
        maxAmountRequired: price,
        payTo: showAddress(currentPayTo(ctx)),
        description: describe(ctx, caller, settles),
        docs: service.pricingDocsUrl,
      },
    ],
  } as const
}

function describe(
  ctx: Pick<Context, 'ecosystem' | 'clock'>,
  { kind, dailyQuota }: Pick<Caller, 'kind' | 'dailyQuota'>,
  settles: boolean,
): string {
  const payment = paymentOf(ctx)
  const minter = describeMinter(ctx.ecosystem)
  const reset = toIso(nextMidnight(unixNow(ctx.clock)))
  const owner = kind === 'keyed' ? "this key's wallet" : 'this address'
  const used = `The ${dailyQuota} free calls of ${owner} are used up until ${reset}.`
  const key =
    minter === null
      ? 'More calls need an API key with a balance; key minting is currently disabled.'
      : `More calls need an API key with a balance: ${minter} mints one with POST /api/keys.`
  const pay = `Send ${payment.symbol} on ${payment.chain.name} from that wallet to payTo, then POST the transaction to /api/sessions/prepay; each call costs ${formatDecimal(ctx.ecosystem.pricePerCall, 6)} USD.`
  const toOwnKey = pay.replace('that wallet', 'the wallet of this key')
  const atOnce = 'x402 clients can pay immediately, even without a key, at /api/sessions/topup.'
  const ways = kind === 'keyed' ? [toOwnKey] : minter === null ? [key] : [key, pay]
  return [used, ...ways, ...(settles ? [atOnce] : [])].join(' ')
}

/** Which wallets can mint a key; null where none can. */
export function describeMinter({ gate, primary, secondary }: Ecosystem): string | null {
  if (gate === null) return null
  if (gate === 'open') return 'any wallet'
  const symbols = [primary, secondary].flatMap((token) => token?.symbol ?? [])
  return `a wallet that holds ${toUsd(gate.minimum)} USD of ${symbols.join(' and ')} on ${gate.chain.name}`
}

/** The wallet to pay today; payments to older ones still count. */
export function currentPayTo(ctx: Pick<Context, 'ecosystem' | 'clock'>) {
  const today = toDate(unixNow(ctx.clock))
  const listed = paymentOf(ctx).payTo
  const current = listed.filter((each) => each.since <= today).at(-1) ?? listed[0]
  assert(current !== undefined, 'the ecosystem lists a wallet to pay')
  return current.address
}
