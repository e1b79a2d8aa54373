/** The answer that every server of the benchmark gives, as Sexton gave it once. */
const { headers, body } = JSON.parse(process.env.BENCH_ANSWER)

/** Headers that Node writes by itself. */
const NODE_OWN = ['connection', 'keep-alive', 'date', 'content-length']

export const BODY = body

/** Where the servers of the benchmark differ only in what they count, this is what they say. */
export const HEADERS = toRecord(() => true)

/** Without those that a rate limiter writes itself. */
export const HEADERS_UNCOUNTED = toRecord(
  (name) => !['limit', 'remaining', 'reset'].includes(name.slice('x-ratelimit-'.length)),
)

/** No server here may ever refuse: what is measured is counting. */
export const QUOTA = 1_000_000_000

export const DAY_SECONDS = 86_400

/** Who is counted: the key, else the address. */
export function identityOf(request) {
  return request.headers.authorization ?? request.ip
}

function toRecord(isWanted) {
  const pairs = headers.filter(([name]) => !NODE_OWN.includes(name.toLowerCase()))
  return Object.fromEntries(pairs.filter(([name]) => isWanted(name.toLowerCase())))
}
