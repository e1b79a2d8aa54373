import { Agent, request } from 'node:http'

/** Calls from clients that keep their connections. */
export interface RollingLoad {
  /** The status, or the error of the connection. */
  ask(method: 'GET' | 'POST'): Promise<string>
  /** Calls until it is told that all is over, and until there are enough; outcomes by method and status. */
  run(isOver: { readonly value: boolean }): Promise<ReadonlyMap<string, number>>
  close(): void
}

const CLIENTS = 8
const GETS = 10_000
const POSTS = 2_000

/** Each fifth call is a POST, which a proxy must not send twice. */
export function rollingLoad(port: number): RollingLoad {
  const agent = new Agent({ keepAlive: true })
  const ask: RollingLoad['ask'] = (method) => askOver(agent, port, method)
  return {
    ask,
    async run(isOver) {
      const outcomes = new Map<string, number>()
      const total = (method: string) =>
        [...outcomes].reduce((sum, [what, n]) => sum + (what.startsWith(method) ? n : 0), 0)
      const call = async () => {
        for (let n = 0; !isOver.value || total('GET') < GETS || total('POST') < POSTS; n += 1) {
          const method = n % 5 === 0 ? 'POST' : 'GET'
          const outcome = `${method} ${await ask(method)}`
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
        }
      }
      await Promise.all(Array.from({ length: CLIENTS }, call))
      return outcomes
    },
    close: () => agent.destroy(),
  }
}

const LEAKED = JSON.stringify({ secret: 'svc_00000000_00000000000000000000000000000000' })

function askOver(agent: Agent, port: number, method: 'GET' | 'POST'): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const path = method === 'GET' ? '/api/burns/total' : '/api/keys/report-leak'
  const headers = { 'content-type': 'application/json' }
  const asking = request({ agent, host: '127.0.0.1', port, path, method, headers }, (answer) => {
    answer.resume()
    answer.once('end', () => resolve(String(answer.statusCode)))
    answer.once('error', (error) => resolve(error.message))
  })
  asking.once('error', (error) => resolve(error.message))
  asking.end(method === 'POST' ? LEAKED : '')
  return promise
}
