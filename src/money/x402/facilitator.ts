import type { FacilitatorClient } from '@x402/core/server'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { type Config, ConfigError } from '#config.ts'
import type { Context } from '#context.ts'
import type { Address } from '#domain/address.ts'
import { DISCOVERY, OFFERS, paymentRequired, TOPUP_PATH } from './offer.ts'

/** Verifies and settles payments: in this process, or as a service of someone else. */
export interface Facilitator {
  /** The library's interface. What it says is a hint; the chain decides. */
  readonly client: Pick<FacilitatorClient, 'verify' | 'settle'>
  /** The address of our own wallet, which pays the gas. */
  readonly wallet: Address | undefined
  /** Whether it could settle a payment of the smallest offer now. */
  isReady(): Promise<boolean>
}

/** Who settles x402 payments. */
export type SettlingSetting =
  | {
      readonly kind: 'wallet'
      readonly keyFile: string
      readonly gasPerDayGwei: number
      readonly etherUsd: number
    }
  | {
      readonly kind: 'facilitator'
      readonly url: string
      readonly headersFile: string | undefined
    }

interface SettlingFacts {
  readonly ecosystem: Pick<Ecosystem, 'payment'>
  readonly config: Pick<Config, 'settling'>
}

/** Undefined where payments are not settled. Throws ConfigError if the file and the settings disagree. */
export function settlingSettingOf({
  ecosystem,
  config,
}: SettlingFacts): SettlingSetting | undefined {
  const { payment } = ecosystem
  const { keyFile, headersFile } = config.settling ?? {}
  if (payment === null && keyFile !== undefined)
    throw new ConfigError(
      'SEXTON_SETTLING_KEY_FILE: the ecosystem file has no "payment"; add it, or unset the variable',
    )
  const url = payment?.settle?.facilitator
  if (url !== undefined && keyFile !== undefined)
    throw new ConfigError(
      'SEXTON_SETTLING_KEY_FILE: the ecosystem file names a facilitator in "payment.settle"; keep one of them',
    )
  if (url === undefined && headersFile !== undefined)
    throw new ConfigError(
      'SEXTON_FACILITATOR_HEADERS_FILE: the ecosystem file names no facilitator in "payment.settle"; add it, or unset the variable',
    )
  if (url !== undefined) return { kind: 'facilitator', url, headersFile }
  if (config.settling === undefined || keyFile === undefined) return undefined
  const { gasPerDayGwei, etherUsd } = config.settling
  return { kind: 'wallet', keyFile, gasPerDayGwei, etherUsd }
}

/** What a facilitator's list of services (Bazaar) shows: the offer of the top-up, with our name. */
export function listingOf(ctx: Pick<Context, 'ecosystem' | 'clock'>) {
  const { service } = ctx.ecosystem
  const { resource, accepts, extensions } = paymentRequired(ctx, {
    amounts: OFFERS,
    resourceUrl: `${service.publicBaseUrl}${TOPUP_PATH}`,
    extensions: DISCOVERY,
  })
  return { resource: { ...resource, serviceName: service.name }, accepts, extensions }
}
