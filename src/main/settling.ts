import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import type { Config } from '#config.ts'
import { ConfigError } from '#config.ts'

/** Who settles x402 payments. */
export type Settling =
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

export interface SettlingFacts {
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
