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

type Read = <T>(name: string, fallback: T, parse: (text: string) => Reading<T>) => T

const text = (value: string): Reading<string> => ({ ok: true, value })

const count = parseNumber({ minimum: 1, maximum: 10_000_000 })

/** Throws ConfigError at the first invalid variable. */
export function readConfig(
  environment: Readonly<Record<string, string | undefined>>,
  terminal: { readonly isTty: boolean; readonly command?: string | undefined },
): Config {
  refuseUnknown(environment)
  const read: Read = (name, fallback, parse) => {
    const reading = readVariable(environment, name, fallback, parse)
    if (reading.ok) return reading.value
    throw new ConfigError(`${name}: ${reading.reason} (got "${reading.shown}")`)
  }
  const port = parseNumber({ minimum: 0, maximum: 65_535 })
  const yes = (name: string) => read(name, 'no', parseChoice(['yes', 'no'] as const)) === 'yes'
  const [general = 3_000, mint = 10, claim = 30] = read<readonly number[]>(
    'SEXTON_GUARD_PER_MINUTE',
    [],
    parseList(count),
  )
  const guard = (perMinute: number): GuardSetting => ({ perMinute, burst: 2 * perMinute })
  const url = read('SEXTON_DATABASE_URL', undefined, parseUrl('postgres'))
  const connectionsMax = read('SEXTON_CONNECTIONS', 8, parseNumber({ minimum: 2, maximum: 500 }))
  const { command } = terminal
  const application = command === undefined ? {} : { applicationName: `sexton ${command}` }
  const database: StoreSetting =
    url === undefined
      ? { kind: 'sqlite' }
      : { kind: 'postgres', url, connectionsMax, ...application }
  const metricsHost = read('SEXTON_METRICS_HOST', '127.0.0.1', text)
  return {
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
    guard: {
      general: guard(general),
      mint: guard(mint),
      claim: guard(claim),
    },
    settling: readSettling(read),
  }
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
function refuseUnknown(environment: Readonly<Record<string, string | undefined>>): void {
  for (const name of Object.keys(environment)) {
    if (!name.startsWith('SEXTON_') || VARIABLES[name] !== undefined) continue
    const known = Object.keys(VARIABLES).filter((each) => each.startsWith('SEXTON_'))
    throw new ConfigError(`${name}: unknown variable; known: ${known.join(', ')}`)
  }
}

function parseNetwork(text: string): Reading<string> {
  const range = isIP(text) === 0 ? text : `${text}/${isIP(text) === 4 ? 32 : 128}`
  try {
    ipaddr.parseCIDR(range)
    return { ok: true, value: range }
  } catch {
    return {
      ok: false,
      reason: `"${text}" is not an address or CIDR such as 10.0.0.0/8 or fd00::/8`,
    }
  }
}

export type Reading<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: string }

/** URLs can hold secrets, so errors show a prefix. */
const SHOWN_MAX = 24

/** Empty counts as absent. */
function readVariable<T>(
  environment: Readonly<Record<string, string | undefined>>,
  name: string,
  fallback: T,
  parse: (text: string) => Reading<T>,
): { ok: true; value: T } | { ok: false; reason: string; shown: string } {
  const text = environment[name]?.trim() ?? ''
  if (text === '') return { ok: true, value: fallback }
  const reading = parse(text)
  return reading.ok ? reading : { ...reading, shown: shorten(text) }
}

function shorten(text: string): string {
  const safe = text.replace(/\/\/[^@\s]*@/g, '//...@')
  return safe.length > SHOWN_MAX ? `${safe.slice(0, SHOWN_MAX)}...` : safe
}

function parseNumber(range: { readonly minimum: number; readonly maximum: number }) {
  return (text: string): Reading<number> => {
    const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN
    return value >= range.minimum && value <= range.maximum
      ? { ok: true, value }
      : { ok: false, reason: `must be an integer from ${range.minimum} to ${range.maximum}` }
  }
}

function parseChoice<T extends string>(values: readonly T[]) {
  return (text: string): Reading<T> => {
    const value = values.find((each) => each === text.toLowerCase())
    return value === undefined
      ? { ok: false, reason: `must be one of ${values.join(', ')}` }
      : { ok: true, value }
  }
}

/** `postgres` also accepts `postgresql`. */
function parseUrl(scheme: 'postgres') {
  const isPostgres = new RegExp(`^${scheme}(?:ql)?://`, 'i')
  return (text: string): Reading<string> => {
    const { href = '', hostname = '' } = URL.parse(text) ?? {}
    return isPostgres.test(href) && !hostname.includes(',')
      ? { ok: true, value: text }
      : { ok: false, reason: `must be a ${scheme}://user:password@host:port/database URL` }
  }
}

function parseList<T>(parse: (text: string) => Reading<T>) {
  return (text: string): Reading<readonly T[]> => {
    const values: T[] = []
    for (const part of text.split(',')) {
      const reading = parse(part.trim())
      if (!reading.ok) return reading
      values.push(reading.value)
    }
    return { ok: true, value: values }
  }
}

/** One line: the variable and what to write. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}
