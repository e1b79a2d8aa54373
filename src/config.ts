import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

export interface GuardSetting {
  readonly burst: number
  readonly perMinute: number
}

interface PortSetting {
  readonly host: string
  readonly port: number
}

export type StoreSetting =
  | { readonly kind: 'sqlite' }
  | {
      readonly kind: 'postgres'
      readonly url: string
      readonly connectionsMax?: number
      /** Name in `pg_stat_activity`. */
      readonly applicationName?: string
    }

/** The environment, parsed once at the start. */
export interface Config {
  readonly host: string
  readonly port: number
  /** Holds embedded databases and local chains. */
  readonly dataFolder: string
  /** Where both stores are. */
  readonly database: StoreSetting
  /** Undefined: the local ecosystem. */
  readonly ecosystemFile: string | undefined
  /** Begins anew where the accounts of an older register are gone. */
  readonly newAccounts: boolean
  /** CIDRs of trusted X-Forwarded-For senders. */
  readonly trustedProxies: readonly string[]
  readonly metrics: PortSetting | undefined
  /** Not ready, but still accepting, after a signal to stop. */
  readonly drainSeconds: number
  readonly log: { readonly level: LogLevel; readonly format: 'json' | 'pretty' }
  readonly guard: {
    readonly general: GuardSetting
    readonly mint: GuardSetting
    readonly claim: GuardSetting
  }
  /** Who settles x402 payments; undefined if neither file is set. */
  readonly settling: SettlingSetting | undefined
  /** Webhooks may be sent to http URLs and private addresses. */
  readonly webhookPrivate: boolean
}

interface SettlingSetting {
  /** Private key of the settling wallet. */
  readonly keyFile: string | undefined
  /** Headers that authenticate us to the facilitator of the ecosystem file. */
  readonly headersFile: string | undefined
  /** Limit per UTC day. */
  readonly gasPerDayGwei: number
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
type LogLevel = (typeof LOG_LEVELS)[number]

/** Shown by `--help`. */
export const VARIABLES: Readonly<Record<string, string>> = {
  HOST: 'address to listen on (default 127.0.0.1)',
  PORT: 'port to listen on, 0 for a free one (default 4020)',
  LOG_LEVEL: `${LOG_LEVELS.join(', ')} (default info); debug has a line per answer`,
  SEXTON_DATA: 'folder of the embedded databases (default .sexton)',
  SEXTON_DATABASE_URL: 'postgres:// URL; holds both stores, instead of the embedded databases',
  SEXTON_CONNECTIONS: 'most connections to PostgreSQL for each store of a process (default 8)',
  SEXTON_ECOSYSTEM: 'path of the ecosystem file (default ./sexton.config.ts)',
  SEXTON_NEW_ACCOUNTS:
    'yes: begin with empty accounts although the register has served before (default no)',
  SEXTON_TRUSTED_PROXIES:
    'addresses or CIDRs, separated by commas, whose X-Forwarded-For is trusted',
  SEXTON_METRICS_HOST: 'address of the metrics server (default 127.0.0.1)',
  SEXTON_METRICS_PORT: 'port of the metrics server, or off (default 4021)',
  SEXTON_DRAIN_SECONDS:
    'seconds to answer on, not ready, after SIGTERM, until proxies have noticed (default 0)',
  SEXTON_GUARD_PER_MINUTE:
    'what an address may do in a minute, after a burst of twice as much: requests, key requests and wrong signatures, claims, top-ups and gate reads (default 3000,10,30)',
  SEXTON_WEBHOOK_PRIVATE:
    'yes: webhooks may be http URLs on private addresses, for development (default no)',
  SEXTON_SETTLING_KEY_FILE: 'file with the private key of the wallet that settles x402 payments',
  SEXTON_FACILITATOR_HEADERS_FILE:
    'file with lines of "Name: value", sent to the facilitator of the ecosystem file to authenticate',
  SEXTON_SETTLING_GAS_PER_DAY:
    'what settlements of a UTC day may cost at most, in gwei (default 40000000: 0.04 ether)',
}

/** Parsers throw a ConfigError that says what would be right. */
type Read = <T>(name: string, fallback: T, parse: (text: string) => T) => T

const text = (value: string) => value

const count = parseNumber({ minimum: 1, maximum: 10_000_000 })

/** Throws ConfigError with every invalid variable. */
export function readConfig(
  environment: Readonly<Record<string, string | undefined>>,
  terminal: { readonly isTty: boolean; readonly command?: string | undefined },
): Config {
  const mistakes = listUnknown(environment)
  const read: Read = (name, fallback, parse) => {
    const value = environment[name]?.trim() ?? ''
    // Empty counts as absent.
    if (value === '') return fallback
    try {
      return parse(value)
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      mistakes.push(`${name}: ${error.message} (got "${shorten(value)}")`)
      return fallback
    }
  }
  const port = parseNumber({ minimum: 0, maximum: 65_535 })
  const yes = (name: string) => read(name, 'no', parseChoice(['yes', 'no'] as const)) === 'yes'
  const [general = 3_000, mint = 10, claim = 30] = read<readonly number[]>(
    'SEXTON_GUARD_PER_MINUTE',
    [],
    parseList(count),
  )
  const guard = (perMinute: number): GuardSetting => ({ perMinute, burst: 2 * perMinute })
  const url = read('SEXTON_DATABASE_URL', undefined, parsePostgresUrl)
  const connectionsMax = read('SEXTON_CONNECTIONS', 8, parseNumber({ minimum: 2, maximum: 500 }))
  const { command } = terminal
  const application = command === undefined ? {} : { applicationName: `sexton ${command}` }
  const database: StoreSetting =
    url === undefined
      ? { kind: 'sqlite' }
      : { kind: 'postgres', url, connectionsMax, ...application }
  const metricsHost = read('SEXTON_METRICS_HOST', '127.0.0.1', text)
  const config: Config = {
    host: read('HOST', '127.0.0.1', text),
    port: read('PORT', 4020, port),
    dataFolder: read('SEXTON_DATA', '.sexton', text),
    database,
    ecosystemFile: read('SEXTON_ECOSYSTEM', undefined, text),
    newAccounts: yes('SEXTON_NEW_ACCOUNTS'),
    webhookPrivate: yes('SEXTON_WEBHOOK_PRIVATE'),
    trustedProxies: read('SEXTON_TRUSTED_PROXIES', [], parseList(parseNetwork)),
    metrics:
      environment.SEXTON_METRICS_PORT === 'off'
        ? undefined
        : { host: metricsHost, port: read('SEXTON_METRICS_PORT', 4021, port) },
    drainSeconds: read('SEXTON_DRAIN_SECONDS', 0, parseNumber({ minimum: 0, maximum: 300 })),
    log: {
      level: read('LOG_LEVEL', 'info', parseChoice(LOG_LEVELS)),
      format: terminal.isTty && environment.NODE_ENV !== 'production' ? 'pretty' : 'json',
    },
    guard: { general: guard(general), mint: guard(mint), claim: guard(claim) },
    settling: readSettling(read),
  }
  if (mistakes.length > 0) throw new ConfigError(mistakes.join('\n'))
  return config
}

function readSettling(read: Read): Config['settling'] {
  const keyFile = read<string | undefined>('SEXTON_SETTLING_KEY_FILE', undefined, text)
  const gwei = parseNumber({ minimum: 1, maximum: 999_999_999 })
  const gasPerDayGwei = read('SEXTON_SETTLING_GAS_PER_DAY', 40_000_000, gwei)
  const headers = 'SEXTON_FACILITATOR_HEADERS_FILE'
  const headersFile = read<string | undefined>(headers, undefined, text)
  if (keyFile === undefined && headersFile === undefined) return undefined
  return { keyFile, headersFile, gasPerDayGwei }
}

/** A misspelled variable would silently do nothing. */
function listUnknown(environment: Readonly<Record<string, string | undefined>>): string[] {
  const isOurs = (name: string) => name.startsWith('SEXTON_')
  const known = Object.keys(VARIABLES).filter(isOurs).join(', ')
  return Object.keys(environment)
    .filter((name) => isOurs(name) && VARIABLES[name] === undefined)
    .map((name) => `${name}: unknown variable; known: ${known}`)
}

function parseNetwork(text: string): string {
  const range = isIP(text) === 0 ? text : `${text}/${isIP(text) === 4 ? 32 : 128}`
  if (ipaddr.isValidCIDR(range)) return range
  throw new ConfigError(`"${text}" is not an address or CIDR such as 10.0.0.0/8 or fd00::/8`)
}

/** URLs can hold secrets, so errors show a prefix. */
const SHOWN_MAX = 24

function shorten(text: string): string {
  const safe = text.replace(/\/\/[^@\s]*@/g, '//...@')
  return safe.length > SHOWN_MAX ? `${safe.slice(0, SHOWN_MAX)}...` : safe
}

function parseNumber(range: { readonly minimum: number; readonly maximum: number }) {
  return (text: string): number => {
    const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (value >= range.minimum && value <= range.maximum) return value
    throw new ConfigError(`must be an integer from ${range.minimum} to ${range.maximum}`)
  }
}

function parseChoice<T extends string>(values: readonly T[]) {
  return (text: string): T => {
    const value = values.find((each) => each === text.toLowerCase())
    if (value !== undefined) return value
    throw new ConfigError(`must be one of ${values.join(', ')}`)
  }
}

function parsePostgresUrl(text: string): string {
  const { href = '', hostname = '' } = URL.parse(text) ?? {}
  if (/^postgres(ql)?:\/\//.test(href) && !hostname.includes(',')) return text
  throw new ConfigError('must be a postgres://user:password@host:port/database URL')
}

function parseList<T>(parse: (text: string) => T) {
  return (text: string): readonly T[] => text.split(',').map((part) => parse(part.trim()))
}

/** A line for each variable: its name and what to write. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}
