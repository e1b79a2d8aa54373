import { Type } from 'typebox'
import { type Address, showAddress } from '#domain/address.ts'
import { formatDecimal, type MicroUsd } from '#domain/money.ts'
import { currentPayTo, type OfferDeps } from '#money/payments/offers.ts'
import { FAULTS, isFault } from '../faults.ts'
import type { Scheme } from '../schemes/scheme.ts'
import { SCHEMES } from '../schemes/schemes.ts'

/** Allows for clock differences and slow blocks. */
const OFFER_SECONDS = 300

export interface OfferInput {
  /** Ascending: clients take the first within their limit. */
  readonly amounts: readonly MicroUsd[]
  readonly resourceUrl: string
  readonly error?: string
  readonly extensions?: Readonly<Record<string, unknown>>
}

type Deps = Pick<OfferDeps, 'payment' | 'pricePerCall' | 'clock'>

/**
 * Returns an x402 v2 PaymentRequired in base64. Clients decode it before the body, so it must be
 * well-formed.
 */
export function paymentRequiredHeader(deps: Deps, input: OfferInput): string {
  return toBase64(paymentRequired(deps, input))
}

export function paymentRequired(deps: Deps, input: OfferInput) {
  return {
    x402Version: 2,
    error: input.error ?? 'payment_required',
    resource: {
      url: input.resourceUrl,
      description: describe(deps, input.amounts),
      mimeType: 'application/json',
    },
    accepts: input.amounts.flatMap((amount) =>
      SCHEMES.map((scheme) =>
        requirementsOf(scheme, { payment: deps.payment, amount, payTo: currentPayTo(deps) }),
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
    readonly payment: OfferDeps['payment']
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

export function networkOf(chainId: number): `eip155:${number}` {
  return `eip155:${chainId}`
}

export function toBase64(value: unknown): string {
  return Buffer.from(JSON.stringify(value), 'utf8').toString('base64')
}

function describe(deps: Deps, amounts: readonly MicroUsd[]): string {
  const [smallest = deps.pricePerCall] = amounts
  const calls = smallest / deps.pricePerCall
  return `${usd(smallest)} USD buys ${calls} calls at ${usd(deps.pricePerCall)} USD; the rest stays as prepaid balance`
}

function usd(amount: MicroUsd): string {
  return formatDecimal(amount, 6)
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

export function topupOfferBody(deps: Deps, input: OfferInput) {
  const { payment } = deps
  return {
    x402Version: 1,
    error: input.error ?? 'payment_required',
    accepts: input.amounts.map((amount) => ({
      scheme: 'exact',
      network: payment.chain.name,
      maxAmountRequired: String(amount),
      resource: input.resourceUrl,
      description: describe(deps, [amount]),
      mimeType: 'application/json',
      payTo: showAddress(currentPayTo(deps)),
      maxTimeoutSeconds: OFFER_SECONDS,
      asset: showAddress(payment.asset),
      extra: { ...payment.domain },
    })),
  } as const
}
