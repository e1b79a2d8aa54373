import assert from 'node:assert/strict'
import { type TObject, type TProperties, Type } from 'typebox'
import { type Address, showAddress } from '#base/address.ts'
import type { Caller } from '#base/caller.ts'
import { formatDecimal, type MicroUsd, toUsd } from '#base/money.ts'
import { nextMidnight, toDate, toIso, unixNow } from '#base/time.ts'
import type { Context } from '#context.ts'
import type { Ecosystem, Payment } from '#ecosystem/ecosystem.ts'

/** An object that has no other members. */
const closed = <P extends TProperties>(properties: P, options?: object): TObject<P> =>
  Type.Object(properties, { ...options, additionalProperties: false })

export const PaymentRequiredBody = closed(
  {
    x402Version: Type.Literal(1),
    error: Type.Literal('payment_required'),
    errorMessage: Type.String(),
    accepts: Type.Array(
      closed({
        scheme: Type.Literal('exact'),
        network: Type.String({ description: 'Name of the chain to pay on.' }),
        asset: Type.String({ description: 'Contract of the payment asset (EIP-55).' }),
        assetSymbol: Type.String(),
        maxAmountRequired: Type.String({ description: 'Price per call in USD.' }),
        payTo: Type.String({ description: 'The wallet to pay (EIP-55).' }),
        description: Type.String(),
        docs: Type.String(),
      }),
    ),
  },
  { title: 'PaymentRequired' },
)

/** Returns the payment settings; call it only where payments are configured. */
export function requirePayment({ ecosystem }: Pick<Context, 'ecosystem'>): Payment {
  const { payment } = ecosystem
  assert(payment !== null, 'the ecosystem file has no payment')
  return payment
}

type Offering = Pick<Context, 'ecosystem' | 'clock'>

type Asking = Pick<Caller, 'kind' | 'dailyQuota'>

/** Builds the 402 body that the API contract specifies. */
export function paymentRequiredBody(ctx: Offering, caller: Asking, settles: boolean) {
  const payment = requirePayment(ctx)
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
        description: describeWays(ctx, caller, settles),
        docs: service.pricingDocsUrl,
      },
    ],
  } as const
}

function describeWays(ctx: Offering, { kind, dailyQuota }: Asking, settles: boolean): string {
  const payment = requirePayment(ctx)
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

/** Says which wallets can mint a key; null if none can. */
export function describeMinter({ gate, primary, secondary }: Ecosystem): string | null {
  if (gate === null) return null
  if (gate === 'open') return 'any wallet'
  const symbols = [primary, secondary].flatMap((token) => token?.symbol ?? [])
  return `a wallet that holds ${toUsd(gate.minimum)} USD of ${symbols.join(' and ')} on ${gate.chain.name}`
}

/** Returns today's receiving wallet; payments to earlier ones still count. */
export function currentPayTo(ctx: Offering) {
  const today = toDate(unixNow(ctx.clock))
  const listed = requirePayment(ctx).payTo
  const current = listed.filter((each) => each.since <= today).at(-1) ?? listed[0]
  assert(current !== undefined, 'the ecosystem lists a wallet to pay')
  return current.address
}

/** Allows for clock skew and slow blocks. */
const OFFER_SECONDS = 300

interface OfferInput {
  /** Ascending, because clients take the first one within their limit. */
  readonly amounts: readonly MicroUsd[]
  readonly resourceUrl: string
  readonly error?: PaymentFault | undefined
  readonly extensions?: Readonly<Record<string, unknown>>
}

/** In micro-USD; within the default spending limit of stock clients. */
export const OFFERS = [100_000n, 1_000_000n] as const

/** Builds an x402 v2 PaymentRequired. Clients decode it before the body, so it must be well-formed. */
export function paymentRequired(ctx: Offering, input: OfferInput) {
  return {
    x402Version: 2,
    error: errorText(input.error),
    resource: {
      url: input.resourceUrl,
      description: describe(ctx, input.amounts),
      mimeType: 'application/json',
    },
    accepts: input.amounts.map((amount) =>
      toRequirements(requirePayment(ctx), amount, currentPayTo(ctx)),
    ),
    ...(input.extensions !== undefined && { extensions: input.extensions }),
  }
}

function errorText(fault: PaymentFault | undefined): string {
  return fault === undefined ? 'payment_required' : `${fault}: ${FAULTS[fault]}`
}

/** Builds x402 v2 PaymentRequirements, for our offers and for the facilitator. */
export function toRequirements(payment: Payment, value: MicroUsd, to: Address) {
  return {
    scheme: 'exact',
    network: toCaip2(payment.chain.id),
    amount: String(value),
    asset: showAddress(payment.asset),
    payTo: showAddress(to),
    maxTimeoutSeconds: OFFER_SECONDS,
    // Clients pay before they are served. Some look `primaryType` up elsewhere if it is missing.
    extra: {
      ...payment.domain,
      paymentFlow: 'upfront',
      primaryType: 'TransferWithAuthorization',
    },
  }
}

function describe(ctx: Offering, amounts: readonly MicroUsd[]): string {
  const { pricePerCall } = ctx.ecosystem
  const [smallest = pricePerCall] = amounts
  const calls = smallest / pricePerCall
  return `${formatDecimal(smallest, 6)} USD buys ${calls} calls at ${formatDecimal(pricePerCall, 6)} USD; the rest stays as prepaid balance`
}

/** Proxies limit headers to 4 KB by default, and our other headers take about 1 KB. */
export const OFFER_LENGTH_MAX = 2_800

/** Leaves out the query if the header would be too long. */
export function callOfferHeader(ctx: Offering, target: string, error?: PaymentFault): string {
  const [path = ''] = target.split('?', 1)
  const { publicBaseUrl } = ctx.ecosystem.service
  const header = (part: string) =>
    toBase64(paymentRequired(ctx, { amounts: OFFERS, resourceUrl: publicBaseUrl + part, error }))
  const whole = header(target)
  return whole.length <= OFFER_LENGTH_MAX ? whole : header(path)
}

/** x402 v1 PaymentRequirementsResponse. */
export const TopupOfferBody = closed(
  {
    x402Version: Type.Literal(1),
    error: Type.String(),
    accepts: Type.Array(
      closed({
        scheme: Type.Literal('exact'),
        network: Type.String({ description: 'Name of the chain to pay on.' }),
        maxAmountRequired: Type.String({ description: 'Base units of the asset.' }),
        resource: Type.String(),
        description: Type.String(),
        mimeType: Type.String(),
        payTo: Type.String(),
        maxTimeoutSeconds: Type.Integer(),
        asset: Type.String(),
        extra: closed({ name: Type.String(), version: Type.String() }),
      }),
    ),
  },
  { title: 'TopupOffer' },
)

export function topupOfferBody(ctx: Offering, input: OfferInput) {
  const payment = requirePayment(ctx)
  return {
    x402Version: 1,
    error: errorText(input.error),
    accepts: input.amounts.map((amount) => ({
      scheme: 'exact',
      network: payment.chain.name,
      maxAmountRequired: String(amount),
      resource: input.resourceUrl,
      description: describe(ctx, [amount]),
      mimeType: 'application/json',
      payTo: showAddress(currentPayTo(ctx)),
      maxTimeoutSeconds: OFFER_SECONDS,
      asset: showAddress(payment.asset),
      extra: { ...payment.domain },
    })),
  } as const
}

export const TOPUP_PATH = '/api/sessions/topup'

/**
 * The x402 extension by which directories learn how to call a resource (Bazaar). Only the top-up has it, because it
 * always answers 402 when unpaid, as their probes expect.
 */
export const DISCOVERY = {
  bazaar: {
    info: {
      input: { type: 'http', method: 'GET', queryParams: { usd: '0.1' } },
      output: { type: 'json', example: { prepaidBalanceUsd: 0.1 } },
    },
    schema: Type.Object(
      {
        input: closed({
          type: Type.Literal('http'),
          method: Type.Enum(['GET', 'HEAD', 'DELETE']),
          queryParams: Type.Optional(
            Type.Object({
              usd: Type.Optional(Type.String({ description: 'Dollars to pay, such as "0.1"' })),
              key: Type.Optional(Type.String({ description: 'publicId of the key to credit' })),
            }),
          ),
        }),
        output: Type.Optional(Type.Object({ type: Type.String() })),
      },
      { $schema: 'https://json-schema.org/draft/2020-12/schema' },
    ),
  },
} as const

/** Builds the entry that a facilitator's directory (Bazaar) shows: the top-up's offer, with our name. */
export function toListing(ctx: Offering) {
  const { service } = ctx.ecosystem
  const { resource, accepts } = paymentRequired(ctx, {
    amounts: OFFERS,
    resourceUrl: `${service.publicBaseUrl}${TOPUP_PATH}`,
    extensions: DISCOVERY,
  })
  return { resource: { ...resource, serviceName: service.name }, accepts, extensions: DISCOVERY }
}

export function toCaip2(chainId: number): `eip155:${number}` {
  return `eip155:${chainId}`
}

export function toBase64(value: unknown): string {
  return Buffer.from(JSON.stringify(value), 'utf8').toString('base64')
}

/** Reasons for answering a payment with 402. Uses codes of the x402 specification or its reference implementation where they exist. */
export const FAULTS = {
  invalid_payload: 'the header is not one x402 payment in base64 JSON',
  invalid_x402_version: 'x402Version must be 2 in PAYMENT-SIGNATURE and 1 in X-PAYMENT',
  invalid_scheme: 'the scheme is not among those offered',
  invalid_network: 'the network is not the one offered',
  invalid_payment_requirements: 'the accepted requirements are not one of the offers',
  unsupported_payload_type:
    'only EIP-3009 authorizations are accepted, because no event ties a Permit2 transfer to its payment',
  invalid_exact_evm_payload_recipient_mismatch: 'the authorization pays another address',
  invalid_exact_evm_payload_authorization_value_mismatch:
    'the authorization is not for the exact amount of an offer',
  invalid_exact_evm_payload_authorization_valid_after: 'the authorization is not valid yet',
  invalid_exact_evm_payload_authorization_valid_before:
    'the authorization has expired, or has less than ten seconds left',
  invalid_exact_evm_payload_authorization_valid_before_too_late:
    'the authorization is valid for more than an hour',
  invalid_exact_evm_payload_signature:
    'the payer did not sign this authorization, or is a contract wallet that is not deployed yet',
  insufficient_funds: 'the payer holds less than the amount',
  invalid_transaction_state:
    'the transfer fails on the chain: the payer withdrew it, or the asset refuses it',
  settlement_unavailable:
    'payments cannot be settled at the moment; nothing was sent. Try again later',
} as const

export type PaymentFault = keyof typeof FAULTS
