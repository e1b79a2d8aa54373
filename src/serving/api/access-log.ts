import type { Caller } from '#domain/caller.ts'
import type { Clock } from '#lib/time.ts'
import type { Route } from '#route/route.ts'
import type { Answered, Incoming } from '#serving/http/exchange.ts'

export type PaidBy = 'quota' | 'prepaid'

export interface AccessLogDeps {
  readonly clock: Clock
  readonly routes: readonly Pick<Route, 'parameters'>[]
  addressBucket(socketAddress: string, headers: Incoming['headers']): string
  /** A whole line, with its end. */
  write(line: string): void
}

export interface AccessLog {
  /** Call before the answer is recorded; unnoted requests count as anonymous. */
  noteCaller(incoming: Incoming, caller: Caller, source: PaidBy | undefined): void
  record(answered: Answered): void
}

interface Noted {
  readonly caller: Caller
  readonly source: PaidBy | undefined
}

/** One JSON line per answer. Headers and bodies never enter it, but for the user agent. */
export function createAccessLog(deps: AccessLogDeps): AccessLog {
  const { clock, addressBucket, write } = deps
  const noted = new WeakMap<Incoming, Noted>()
  const names = queryNames(deps.routes)
  return {
    noteCaller: (incoming, caller, source) => void noted.set(incoming, { caller, source }),
    record({ incoming, target, route, status, bytes, durationMs }) {
      const client = addressBucket(incoming.socketAddress, incoming.headers)
      const { caller, source } = noted.get(incoming) ?? {}
      const line = {
        time: new Date(clock()).toISOString(),
        requestId: incoming.requestId,
        method: incoming.method,
        route: route ?? null,
        target: showTarget(target, route, names),
        status,
        bytes,
        durationMs: Math.round(durationMs * 1_000) / 1_000,
        client,
        identity: caller?.identity ?? `ip:${client}`,
        tier: caller?.tier ?? 'anonymous',
        source: source ?? null,
        userAgent: showAgent(incoming.headers['user-agent']),
      }
      write(`${JSON.stringify(line)}\n`)
    },
  }
}

function queryNames(routes: AccessLogDeps['routes']): ReadonlySet<string> {
  const all = routes.flatMap(({ parameters }) => Object.entries(parameters))
  return new Set(all.flatMap(([name, parameter]) => (parameter.in === 'query' ? [name] : [])))
}

const HIDDEN = '[redacted]'

/** The longest plain value, a time. Keys, signatures, payments and private keys are longer. */
const PLAIN_MAX = 24

/** An address, or a UUID such as that of a prepayment. */
const PUBLIC = /^0x[0-9a-f]{40}$|^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

const TARGET_MAX = 512

/** Only values of known parameters, and nothing that may be a secret: people paste keys into URLs. */
function showTarget(target: string, route: string | undefined, names: ReadonlySet<string>): string {
  const [path = '', ...rest] = target.split('?')
  const literals = route?.split('/') ?? []
  const parts = path.split('/').map((part, index) => (part === literals[index] ? part : show(part)))
  const query = rest.join('?')
  const pairs = query === '' ? [] : query.split('&').map((pair) => showPair(pair, names))
  return `${parts.join('/')}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`.slice(0, TARGET_MAX)
}

function showPair(pair: string, names: ReadonlySet<string>): string {
  const end = pair.indexOf('=')
  if (end === -1) return show(pair)
  const name = pair.slice(0, end)
  return names.has(name) ? `${name}=${show(pair.slice(end + 1))}` : `${show(name)}=${HIDDEN}`
}

function show(part: string): string {
  const text = decoded(part)
  // Credentials of a URL that was given as a path.
  if (text === undefined || text.includes('@')) return HIDDEN
  return text.length <= PLAIN_MAX || PUBLIC.test(text) ? part : HIDDEN
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

const AGENT_MAX = 200

/** Longer than any word of a real user agent; a key's secret has 32 digits. */
const LONG_WORD = /[\w+/=%-]{32,}/g

/** Hides before it cuts: half a secret would pass. */
function showAgent(agent: string | undefined): string | null {
  return agent?.replace(LONG_WORD, HIDDEN).slice(0, AGENT_MAX) ?? null
}
