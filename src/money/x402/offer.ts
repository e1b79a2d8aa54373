import { Type } from 'typebox'
import type { Payment } from '#chains/ecosystem/ecosystem.ts'
import type { Context } from '#context.ts'
import { type Address, showAddress } from '#domain/address.ts'
import { formatDecimal, type MicroUsd } from '#domain/money.ts'
import { currentPayTo, paymentOf } from '#money/payments/offers.ts'
import { FAULTS, isFault } from './faults.ts'
import { networkOf, toBase64 } from './payload.ts'
import type { Scheme } from './schemes/scheme.ts'
import { SCHEMES } from './schemes/schemes.ts'

/** Allows for clock differences and slow blocks. */
const OFFER_SECONDS = 300

interface OfferInput {
  /** Ascending: clients take the first within their limit. */
  readonly amounts: readonly MicroUsd[]
  readonly resourceUrl: string
  readonly error?: string
  readonly extensions?: Readonly<Record<string, unknown>>
}

/** Micro-USD, within the default spending limit of stock clients. */
export const OFFERS = [100_000n, 1_000_000n] as const

type Offering = Pick<Context, 'ecosystem' | 'clock'>

/**
 * Returns an x402 v2 PaymentRequired in base64. Clients decode it before the body, so it must be
 * well-formed.
 */
export function paymentRequiredHeader(ctx: Offering, input: OfferInput): string {
  return toBase64(paymentRequired(ctx, input))
}

export function paymentRequired(ctx: Offering, input: OfferInput) {
  return {
    x402Version: 2,
    error: input.error ?? 'payment_required',
    resource: {
      url: input.resourceUrl,
      description: describe(ctx, input.amounts),
      mimeType: 'application/json',
    },
    accepts: input.amounts.flatMap((amount) =>
      SCHEMES.map((scheme) =>
        requirementsOf(scheme, { payment: paymentOf(ctx), amount, payTo: currentPayTo(ctx) }),
      ),
    ),
    ...(input.extensions !== undefined && { extensions: input.extensions }),
  }
}

/** A code, with its words where it has some. */
export function errorText(code: string): string {
  return isFault(code) ? `${code}: ${FAULTS[code]}` : code
}

/** Returns an x402 v2 PaymentRequirements: one of our offers, and what a facilitator settles. */
export function requirementsOf(
  scheme: Pick<Scheme, 'name' | 'extra'>,
  input: {
    readonly payment: Payment
    readonly amount: MicroUsd
    readonly payTo: Address
  },
) {
  const { payment, amount, payTo } = input
  return {
    scheme: scheme.name,
    network: networkOf(payment.chain.id),
    amount: String(amount),
    asset: showAddress(payment.asset),
    payTo: showAddress(payTo),
    maxTimeoutSeconds: OFFER_SECONDS,
    extra: { ...scheme.extra(payment) },
  }
}

function describe(ctx: Offering, amounts: readonly MicroUsd[]): string {
  const { pricePerCall } = ctx.ecosystem
  const [smallest = pricePerCall] = amounts
  const calls = smallest / pricePerCall
  return `${usd(smallest)} USD buys ${calls} calls at ${usd(pricePerCall)} USD; the rest stays as prepaid balance`
}

function usd(amount: MicroUsd): string {
  return formatDecimal(amount, 6)
}

/** Proxies limit headers to 4 KB by default; the others need about 1 KB. */
export const OFFER_LENGTH_MAX = 2_800

/** Drops the query if the header is too long. */
export function callOfferHeader(
  ctx: Offering,
  { target, error }: { readonly target: string; readonly error: string | undefined },
): string {
  const [path = ''] = target.split('?', 1)
  const header = (part: string) =>
    paymentRequiredHeader(ctx, {
      amounts: OFFERS,
      resourceUrl: ctx.ecosystem.service.publicBaseUrl + part,
      ...(error !== undefined && { error: errorText(error) }),
    })
  const whole = header(target)
  return whole.length <= OFFER_LENGTH_MAX ? whole : header(path)
}

/** x402 v1 PaymentRequirementsResponse. */
export const TopupOfferBody = Type.Object(
  {
    x402Version: Type.Literal(1),
    error: Type.String(),
    accepts: Type.Array(
      Type.Object(
        {
          scheme: Type.Literal('exact'),
          network: Type.String({ description: 'Name of the chain to pay on.' }),
          maxAmountRequired: Type.String({ description: 'Base units of the asset.' }),
          resource: Type.String(),
          description: Type.String(),
          mimeType: Type.String(),
          payTo: Type.String(),
          maxTimeoutSeconds: Type.Integer(),
          asset: Type.String(),
          extra: Type.Object(
            { name: Type.String(), version: Type.String() },
            { additionalProperties: false },
          ),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { title: 'TopupOffer', additionalProperties: false },
)

export function topupOfferBody(ctx: Offering, input: OfferInput) {
  const payment = paymentOf(ctx)
  return {
    x402Version: 1,
    error: input.error ?? 'payment_required',
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

const INPUT = {
  type: 'object',
  properties: {
    type: { type: 'string', const: 'http' },
    method: { type: 'string', enum: ['GET', 'HEAD', 'DELETE'] },
    queryParams: {
      type: 'object',
      properties: {
        usd: { type: 'string', description: 'Dollars to pay, such as "0.1"' },
        key: { type: 'string', description: 'publicId of the key to credit' },
      },
    },
  },
  required: ['type', 'method'],
  additionalProperties: false,
} as const

const OUTPUT = {
  type: 'object',
  properties: { type: { type: 'string' }, example: { type: 'object' } },
  required: ['type'],
} as const

export const TOPUP_PATH = '/api/sessions/topup'

/**
 * The x402 extension by which directories learn how to call a resource (Bazaar). Only the top-up has it: unpaid, it always answers 402, which their probes expect.
 */
export const DISCOVERY = {
  bazaar: {
    info: {
      input: { type: 'http', method: 'GET', queryParams: { usd: '0.1' } },
      output: { type: 'json', example: { prepaidBalanceUsd: 0.1 } },
    },
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { input: INPUT, output: OUTPUT },
      required: ['input'],
    },
  },
} as const
