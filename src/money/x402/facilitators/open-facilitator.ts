import { readFile } from 'node:fs/promises'
import type { Ecosystem, Payment } from '#chains/ecosystem/ecosystem.ts'
import { type Config, ConfigError } from '#config.ts'
import { parseHash } from '#domain/address.ts'
import type { Clock } from '#lib/time.ts'
import { DISCOVERY, TOPUP_PATH } from '../offers/discovery.ts'
import { paymentRequired } from '../offers/offer.ts'
import { type EmbeddedDeps, embeddedFacilitator } from './embedded-facilitator.ts'
import type { Facilitator } from './facilitator.ts'
import { httpFacilitator } from './http-facilitator.ts'

/** Micro-USD, within the default spending limit of stock clients. */
export const OFFERS = [100_000n, 1_000_000n] as const

/** Who settles x402 payments. */
type Settling =
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
export function settlingOf({ ecosystem, config }: SettlingFacts): Settling | undefined {
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
export function listingOf(
  { service, pricePerCall }: Pick<Ecosystem, 'service' | 'pricePerCall'>,
  { payment, clock }: { readonly payment: Payment; readonly clock: Clock },
) {
  const offer = paymentRequired(
    { payment, pricePerCall, clock },
    {
      amounts: OFFERS,
      resourceUrl: `${service.publicBaseUrl}${TOPUP_PATH}`,
      extensions: DISCOVERY,
    },
  )
  const { resource, accepts, extensions } = offer
  return { resource: { ...resource, serviceName: service.name }, accepts, extensions }
}

type Deps = SettlingFacts &
  Pick<EmbeddedDeps, 'engine' | 'clock' | 'rpc' | 'payment' | 'report'> & {
    readonly ecosystem: Pick<Ecosystem, 'service' | 'pricePerCall'>
  }

/** Opens what settles, in the leader's process. Throws ConfigError without a private key. */
export async function openFacilitator(deps: Deps): Promise<Facilitator> {
  const settling = settlingOf(deps)
  if (settling === undefined) throw new Error('a job of settlements, but nothing settles them')
  if (settling.kind === 'facilitator') {
    const { accepts: _, ...listing } = listingOf(deps.ecosystem, deps)
    return httpFacilitator({ ...deps, ...settling, listing })
  }
  return embeddedFacilitator({
    ...deps,
    privateKey: await readKey(settling.keyFile),
    gasPerDayGwei: BigInt(settling.gasPerDayGwei),
    etherUsd: settling.etherUsd,
    amounts: OFFERS,
  })
}

async function readKey(file: string): Promise<`0x${string}`> {
  const name = 'SEXTON_SETTLING_KEY_FILE'
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new ConfigError(`${name}: the file cannot be read`, { cause })
  })
  const privateKey = parseHash(text.trim())
  if (privateKey === undefined)
    throw new ConfigError(`${name}: the file must contain a private key, 0x and 64 hex digits`)
  return privateKey
}
