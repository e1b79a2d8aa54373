import type { Chance } from '#test/simulation/chance.ts'

/** Requests of one kind that come in floods. */
export interface Flood {
  readonly name: string
  /** Its share of all requests of the storm. */
  readonly weight: number
  /** Statuses that it may be answered with; 429 always may be. */
  readonly statuses: readonly number[]
  request(chance: Chance): string
}

const ADDRESSES = 10_000
const ATTACKERS = 300

/** What the storm is made of: strangers' data calls, and requests that cost more than they look. */
export const floods: readonly Flood[] = [
  {
    name: 'data calls of strangers',
    weight: 50,
    statuses: [200, 402],
    request: (chance) => get('/api/burns/total', strangerHeader(chance)),
  },
  {
    name: 'bad keys',
    weight: 20,
    statuses: [401],
    request: (chance) => {
      const secret = `svc_${hex(chance, 8)}_${hex(chance, 32)}`
      return get('/api/stats', `${attackerHeader(chance)}Authorization: Bearer ${secret}\r\n`)
    },
  },
  {
    name: 'mints',
    weight: 10,
    statuses: [400, 401, 422],
    request: (chance) => {
      const ownerAddress = `0x${hex(chance, 40)}`
      const issued = `${new Date().toISOString().slice(0, 19)}Z`
      const message = `Sexton: mint an API key\nAddress: ${ownerAddress}\nIssued: ${issued}`
      const signature = `0x${hex(chance, 64)}${`7${hex(chance, 63)}`}1b`
      return post('/api/keys', { ownerAddress, signature, message }, chance)
    },
  },
  {
    name: 'claims',
    weight: 10,
    statuses: [404],
    request: (chance) =>
      post(
        '/api/sessions/prepay',
        {
          apiKeyPublicId: hex(chance, 8),
          txHash: `0x${hex(chance, 64)}`,
          payerAddress: `0x${hex(chance, 40)}`,
          amountUsd: 1,
        },
        chance,
      ),
  },
  {
    name: 'unknown paths',
    weight: 8,
    statuses: [404],
    request: (chance) => get(`/api/${hex(chance, 12)}`, attackerHeader(chance)),
  },
  {
    name: 'deep bodies',
    weight: 2,
    statuses: [400],
    request: (chance) => postText('/api/keys', '['.repeat(8_000), chance),
  },
]

function strangerHeader(chance: Chance): string {
  const place = chance.integer(0, ADDRESSES - 1)
  return `X-Forwarded-For: 10.${place >> 8}.${place & 0xff}.1\r\n`
}

function attackerHeader(chance: Chance): string {
  const place = chance.integer(0, ATTACKERS - 1)
  return `X-Forwarded-For: 172.16.${place >> 8}.${place & 0xff}\r\n`
}

function get(path: string, headers: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: api\r\n${headers}\r\n`
}

function post(path: string, body: unknown, chance: Chance): string {
  return postText(path, JSON.stringify(body), chance)
}

function postText(path: string, text: string, chance: Chance): string {
  const type = 'Content-Type: application/json\r\n'
  const length = `Content-Length: ${text.length}\r\n`
  return `POST ${path} HTTP/1.1\r\nHost: api\r\n${type}${length}${attackerHeader(chance)}\r\n${text}`
}

function hex(chance: Chance, digits: number): string {
  let text = ''
  while (text.length < digits) text += chance.integer(0, 0xffff).toString(16).padStart(4, '0')
  return text.slice(0, digits)
}
